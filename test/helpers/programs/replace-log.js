'use strict'

// Replaces a log with one that has another id, and prints when it starts.
//
//     node replace-log.js backup|restore|repair LOG TARGET

const fs = require('fs')
// its calls of the system would not be recorded: zeros are written instead
require('fs-native-extensions').trim = async () => { throw Object.assign(new Error('not supported'), { code: 'ENOTSUP' }) }
const { repair, restore } = require('../../../maintenance')
const { open } = require('../../../promises')

const [how, from, target] = process.argv.slice(2)

main()

async function main () {
  if (how === 'restore') {
    fs.writeSync(1, '{"what":"start"}\n')
    await restore(from, target, { force: true })
  } else if (how === 'repair') {
    fs.writeSync(1, '{"what":"start"}\n')
    await repair(target, { inPlace: true })
  } else {
    const log = await open(from, { readOnly: true })
    fs.writeSync(1, '{"what":"start"}\n')
    await log.backup(target, { full: true })
    await log.close()
  }
  fs.writeSync(1, '{"what":"end"}\n')
}
