'use strict'

// flumelog reclaim: frees the space of deleted records.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('../..')
const { holeOf } = require('../../lib/format/hole')
const { filesIn, testFolder } = require('../helpers/folder')
const { refuses } = require('../helpers/command-line')
const { promises } = require('../helpers/promises')
const { collect } = require('../helpers/reading')
const { flumelog } = require('../helpers/warm-flumelog')

/** A log of which the first two blocks are holes that take space. */
async function makeUnpunched (file) {
  const log = promises(FlumeLog(file))
  await log.append(Array.from({ length: 300 }, () => Buffer.alloc(1000, 1)))
  await log.close()
  const fd = fs.openSync(file, 'r+')
  for (const number of [0, 1]) fs.writeSync(fd, holeOf(65536, true), 0, 65536, number * 65536)
  fs.closeSync(fd)
}

test('reclaim frees blocks of which every record is deleted, and says how much', async (t) => {
  const file = testFolder(t)('log')
  await makeUnpunched(file)
  const before = fs.statSync(file)
  const { code, stdout, stderr } = await flumelog(['reclaim', file])
  t.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  t.match(stdout, /^.*log: (freed [\d.]+ kB in 2 blocks|nothing freed, since files cannot have holes here)\n$/)
  const after = fs.statSync(file)
  t.equal(after.size, before.size)
  if (/freed \d/.test(stdout)) t.ok(after.blocks < before.blocks, 'the file takes less')
  if (/freed \d/.test(stdout)) t.match((await flumelog(['reclaim', file])).stdout, /log: nothing to free\n$/, 'once')
  const { size, allocated } = JSON.parse((await flumelog(['stat', file, '--json'])).stdout)
  t.deepEqual({ size, allocated }, { size: after.size, allocated: fs.statSync(file).blocks * 512 }, 'stat shows both')
  t.equal((await collect(promises(FlumeLog(file, { readOnly: true })).log)).length, 300 - 130)
})

test('reclaim of a log that another process owns is done by that process', async (t) => {
  const file = testFolder(t)('log')
  await makeUnpunched(file)
  const owner = promises(FlumeLog(file, { shared: true }))
  await owner.onReady()
  const { code, stdout } = await flumelog(['reclaim', file])
  t.equal(code, 0)
  t.match(stdout, /log: (freed [\d.]+ kB in 2 blocks|nothing to free), by the process that owns the log\n$/)
  await owner.close()
})

test('reclaim refuses what is no log', async (t) => {
  const name = testFolder(t)
  refuses(t, await flumelog(['reclaim', name('missing')]), 1, /missing: no such file; check the name$/m, 'no file')
  t.deepEqual(filesIn(name('.')), [], 'no log was created')
})
