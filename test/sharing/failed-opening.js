'use strict'

// A shared log that cannot be opened.

const fs = require('fs')
const path = require('path')
const tape = require('tape')
const { open } = require('../../promises')
const { filesIn, testFolder } = require('../helpers/folder')
const { codeOf } = require('../helpers/reading')

tape('a process that cannot open a shared log is neither its owner nor a client afterwards', async (t) => {
  const file = testFolder(t)('log')
  for (const isFirst of [true, false]) {
    const other = isFirst ? null : await open(file, { shared: true })
    // it is read at the end of an opening
    fs.symlinkSync('log.offset-map', `${file}.offset-map`)
    t.equal(await codeOf(open(file, { shared: true })), 'ELOOP', `as the ${isFirst ? 'owner' : 'client'}`)
    fs.unlinkSync(`${file}.offset-map`)
    await other?.close()
    const log = await open(file, { shared: true })
    t.equal(log.flumelog.role, 'owner')
    await log.close()
    t.deepEqual(filesIn(path.dirname(file)), ['log'])
  }
})
