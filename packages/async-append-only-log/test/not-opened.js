'use strict'

// Under ssb-db2, whose calls wait for the log, an opening that fails is told as a warning.

const fs = require('fs')
const tape = require('tape')
const AsyncAppendOnlyLog = require('..')
const { testFolder } = require('../../../test/helpers/folder')
const { OLD_LOGS } = require('../../../test/helpers/old-files')

tape('a file of async-append-only-log in the place of the log is a warning with the command that imports it', async (t) => {
  const file = testFolder(t)('log')
  await OLD_LOGS['async-append-only-log'].make(file, [Buffer.from('one')])
  const warned = new Promise(resolve => process.once('warning', resolve))
  const log = AsyncAppendOnlyLog(file)
  log.stream({ gt: -1 }).pipe({ paused: false, write () {}, end () {} })
  const { code, message } = await warned
  await new Promise(resolve => log.close(resolve))
  t.equal(code, 'FLUMELOG_NOT_OPENED')
  t.ok(message.includes(`flumelog import RENAMED ${fs.realpathSync(file)} --keep-deleted`), message)
})
