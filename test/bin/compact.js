'use strict'

// flumelog compact: rewrites a log without its deleted records.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('../..')
const { filesIn, testFolder } = require('../helpers/folder')
const { refuses } = require('../helpers/command-line')
const { makeLog, readLog, deleteFrom } = require('../helpers/logs')
const { promises } = require('../helpers/promises')
const { flumelog } = require('../helpers/warm-flumelog')

const RECORDS = Array.from({ length: 1000 }, (_, i) => `record number ${i}`)

test('compact drops deleted records, and says what that gained', async (t) => {
  const name = testFolder(t)
  const seqs = await makeLog(name('log'), RECORDS, { blockSize: 1024 })
  await deleteFrom(name('log'), seqs.filter((_, i) => i % 4 > 0))
  const { code, stdout, stderr } = await flumelog(['compact', 'log', '--yes'], { cwd: name('.') })
  t.deepEqual([code, stderr], [0, ''])
  t.match(stdout, /^log: \d+\.\d kB became \d\.\d\d kB: 250 records kept, 750 deleted records or freed blocks dropped; offsets have changed\n$/)
  t.deepEqual((await readLog(name('log'))).map(({ value }) => String(value)), RECORDS.filter((_, i) => i % 4 === 0))
  t.equal((await flumelog(['verify', 'log'], { cwd: name('.') })).code, 0)
})

test('get of an offset from before a compaction says where to find the new ones', async (t) => {
  const name = testFolder(t)
  const seqs = await makeLog(name('log'), RECORDS, { blockSize: 1024 })
  await deleteFrom(name('log'), seqs.slice(0, 500))
  await flumelog(['compact', name('log'), '--yes'])
  refuses(t, await flumelog(['get', name('log'), String(seqs[700])]), 1, /what was there was trimmed, or has moved in a compaction; flumelog dump --seqs lists the offsets$/m, 'get')
})

test('sizes of a log that was compacted are those of what is there, not of the sparse part before its start', async (t) => {
  const name = testFolder(t)
  const seqs = await makeLog(name('log'), RECORDS, { blockSize: 1024 })
  await deleteFrom(name('log'), seqs.filter((_, i) => i % 4 > 0))
  const run = async (...args) => {
    const { stdout, stderr } = await flumelog(args, { cwd: name('.') })
    t.equal(stderr, '')
    return stdout
  }
  const [, after] = /became (\S+ kB)/.exec(await run('compact', 'log', '--yes'))
  t.ok(fs.statSync(name('log')).size > 4e6)
  t.equal(await run('backup', 'log', 'backup'), `backup: backed up all of the log, ${after}\n`)
  t.equal(await run('backup', 'log', 'backup'), `backup: nothing has changed; all of it is ${after}\n`)
  t.equal(await run('restore', 'backup', 'restored'), `restored: restored 250 records, ${after}\n`)
  t.ok((await run('verify', 'log')).includes(` ${after}, from offset`))
  const stat = await run('stat', 'log')
  t.match(stat, new RegExp(`^size .*\\(${after}\\)\\nallocated .*\\nstart +offset 4,\\d{3},\\d{3}; what was before is trimmed or compacted, and takes at most one block$`, 'm'))
  const { size, start, allocated } = JSON.parse(await run('stat', 'log', '--json'))
  t.equal(size, fs.statSync(name('log')).size, 'JSON has the size of the file')
  t.ok(start > 4e6 && allocated < 1e6)
})

test('a log that another program has open for writing is not compacted', async (t) => {
  const name = testFolder(t)
  const log = promises(FlumeLog(name('log')))
  await log.del(await log.append('a record'))
  const { code, stdout, stderr } = await flumelog(['compact', name('log'), '--yes'])
  t.deepEqual([code, stdout], [1, ''])
  t.match(stderr, /another program has this log open for writing; close it there first, or have that program call log\.compact\(\)/)
  await log.close()
})

test('a log without deleted records is left as it is', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), RECORDS)
  const before = fs.readFileSync(name('log'))
  const { code, stdout, stderr } = await flumelog(['compact', 'log', '--yes'], { cwd: name('.') })
  t.deepEqual([code, stdout, stderr], [0, 'log: nothing to drop: no record is deleted; the log is as it was\n', ''])
  t.ok(fs.readFileSync(name('log')).equals(before))
  t.deepEqual(filesIn(name('.')), ['log'])
})

test('compact asks first, and creates no log', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), RECORDS)
  refuses(t, await flumelog(['compact', name('log')]), 2, /--yes is required/, 'without a terminal')
  refuses(t, await flumelog(['compact', name('missing'), '--yes']), 1, /missing: no such file; check the name$/m, 'no file')
  t.deepEqual(filesIn(name('.')), ['log'])
})
