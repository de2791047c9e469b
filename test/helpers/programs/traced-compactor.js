'use strict'

// Appends and deletes while a log is compacted, twice, and says on stdout what is asked for and what is durable.
//
//     node traced-compactor.js FILE SEED

const fs = require('fs')
const { open } = require('../../../promises')
const { randomFrom } = require('../random')
require('../small-steps')

const [file, seed] = process.argv.slice(2)
const random = randomFrom(Number(seed))
const settings = { blockSize: random.pick([256, 1024, 4096]), sync: 'always', checksum: random() < 0.8, large: random() < 0.5 }

main()

async function main () {
  tell('settings', settings)
  const log = await open(file, settings)
  let made = 0
  const append = async () => {
    const atomic = random() < 0.2
    const most = settings.large && !atomic && random() < 0.3 ? 3 * settings.blockSize : 60
    const values = Array.from({ length: 1 + random.below(4) }, () => `${++made} ${'.'.repeat(random.below(most))}`)
    tell('appending', values)
    await log.append(values, { atomic })
    tell('appended', values)
  }
  const del = async (seq) => {
    const value = String(await log.get(seq))
    tell('deleting', value)
    await log.del(seq)
    tell('deleted', value)
  }
  for (let n = 0; n < 20; n++) await append()
  for (let round = 0; round < 2; round++) {
    const seqs = []
    for await (const seq of log.stream({ values: false })) seqs.push(seq)
    for (let n = 0; n < 5; n++) await del(seqs.splice(random.below(seqs.length), 1)[0])
    const state = { isOver: false }
    const others = async () => {
      while (!state.isOver) await append()
    }
    const doing = [others(), del(seqs[1]).catch(() => {}), del(seqs.at(-1)).catch(() => {})]
    await log.compact().finally(() => { state.isOver = true })
    await Promise.all(doing)
    tell('id', log.id)
  }
  await log.close()
  tell('closed', null)
}

function tell (what, details) {
  fs.writeSync(1, JSON.stringify({ what, details }) + '\n')
}
