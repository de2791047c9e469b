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
    const metadata = `${file}.meta`
    if (!isFirst) fs.renameSync(metadata, `${metadata}.aside`)
    fs.mkdirSync(metadata)
    t.equal(await codeOf(open(file, { shared: true })), 'EISDIR', `as the ${isFirst ? 'owner' : 'client'}`)
    fs.rmdirSync(metadata)
    if (!isFirst) fs.renameSync(`${metadata}.aside`, metadata)
    await other?.close()
    const log = await open(file, { shared: true })
    t.equal(log.flumelog.role, 'owner')
    await log.close()
    t.deepEqual(filesIn(path.dirname(file)), ['log'])
  }
})
