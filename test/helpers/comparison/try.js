'use strict'

// Tests features on one flumelog, in a process of its own, since some logs throw exceptions
// that cannot be caught, or never call back. `try.js NAME features FOLDER FROM` prints a line
// of JSON per feature, starting with this one, and exits at the first feature that crashes
// the process. `try.js NAME TASK FOLDER` runs a task of features.js.

const fs = require('fs')
const path = require('path')
const { KINDS, Flumelog } = require('./flumelogs')
const { features, inProcess } = require('./features')

const [name, task, folder, from] = process.argv.slice(2)
const flumelog = new Flumelog(KINDS.find(kind => kind.name === name))

if (task === 'features') tryFeatures(Number(from))
else inProcess[task](flumelog, (name) => path.join(folder, name))

async function tryFeatures (number) {
  const answer = (works, why) => fs.writeSync(1, JSON.stringify({ works, why }) + '\n')
  const fail = (why) => {
    answer(false, why)
    process.exit(1)
  }
  process.on('uncaughtException', (err) => fail(`throws ${err.stack}`))
  process.on('beforeExit', () => fail('never calls back'))

  for (; number < features.length; number++) {
    const own = path.join(folder, String(number))
    fs.mkdirSync(own)
    try {
      answer(await features[number].works(flumelog, (name) => path.join(own, name)))
    } catch (err) {
      answer(false, String(err.stack))
    }
  }
  process.exit()
}
