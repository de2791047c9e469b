'use strict'

// The memory use of the command line does not depend on the size of the log.

const fs = require('fs')
const path = require('path')
const test = require('tape')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { start } = require('../helpers/command-line')
const { promises } = require('../helpers/promises')
const { signal } = require('../helpers/runtime')

const MIB = 1024 * 1024
const RECORDS = 900000
const RECORD = Buffer.from('a record of some length, as many are '.repeat(8))
/** Uncollected garbage: up to 90 MiB were measured, for logs of 80 MiB to 500 MiB. */
const MOST_GARBAGE = 128 * MIB

/** @param {number} count */
async function logOf (file, count) {
  const log = promises(FlumeLog(file))
  for (let left = count; left > 0; left -= 10000) await log.append(new Array(Math.min(left, 10000)).fill(RECORD))
  await log.close()
}

test(`dump of ${RECORDS} records to a stalled reader takes no more memory than dump of 5000`, async (t) => {
  if (!fs.existsSync('/proc/self/status')) return t.comment('this system does not tell how much memory a process takes')
  const name = testFolder(t)
  await logOf(name('small'), 5000)
  await logOf(name('large'), RECORDS)
  const few = await dumpSlowly(t, name('small'))
  const many = await dumpSlowly(t, name('large'))
  t.equal(few.bytes, 5000 * (RECORD.length + 1), 'all of the small log is printed in the end')
  t.equal(many.bytes, RECORDS * (RECORD.length + 1), 'and of the large one')
  t.ok(many.bytes > 1.5 * MOST_GARBAGE, 'which would not fit into that')
  t.ok(many.peak - few.peak < MOST_GARBAGE, `${(few.peak / MIB).toFixed(0)} MiB for the small one, ${(many.peak / MIB).toFixed(0)} MiB for the large one of ${(many.bytes / MIB).toFixed(0)} MiB`)
})

/** Reads nothing until the program waits, then everything. */
async function dumpSlowly (t, file) {
  const running = start(t, ['dump', file])
  const { stdout } = running.child
  stdout.removeAllListeners('data').pause()
  await running.atRest()
  let peak = running.peakMemory()
  let bytes = 0
  for await (const chunk of stdout) {
    bytes += chunk.length
    peak = Math.max(peak, running.peakMemory() ?? 0)
  }
  return { peak, bytes }
}

test('append stops reading while the disk is slow, so its memory use is bounded', async (t) => {
  if (!fs.existsSync('/proc/self/status')) return t.comment('this system does not tell how much memory a process takes')
  const file = testFolder(t)('log')
  const lines = ('x'.repeat(255) + '\n').repeat(MIB / 256)
  const running = start(t, ['append', file, '--sync', 'never'], { preload: [path.join(__dirname, '..', 'helpers', 'stuck-disk.js')] })
  await running.send(lines)
  await running.atRest()
  const few = running.peakMemory()
  const sent = sendAll(running, lines, 127)
  await running.atRest()
  const many = running.peakMemory()
  t.equal(fs.statSync(file).size, 0, 'the disk has taken nothing yet')
  t.ok(many - few < 64 * MIB, `${(few / MIB).toFixed(0)} MiB with 1 MiB of lines, ${(many / MIB).toFixed(0)} MiB while 128 MiB are offered`)

  signal(running.child, 'SIGUSR2')
  await sent
  running.child.stdin.end()
  const { stdout } = await running.ended
  t.match(stdout, /appended 524,288 records/, 'in the end all of them are stored')
})

async function sendAll (running, lines, times) {
  for (let i = 0; i < times; i++) await running.send(lines)
}
