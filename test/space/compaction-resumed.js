'use strict'

// A compaction that was interrupted goes on with what it has copied: what is written, and that the result is right
// whatever has become of the log and of the copy since.

const written = { bytes: 0 }
countBytes()
const fs = require('fs')
const path = require('path')
const tape = require('tape')
const { execFileSync } = require('child_process')
const { verify } = require('../../maintenance')
const { open } = require('../../promises')
const { flumelog } = require('../helpers/command-line')
const { testFolder } = require('../helpers/folder')
const { randomFrom } = require('../helpers/random')
require('../helpers/small-steps')
const { Compaction } = require('../../lib/space/compaction')

// each slow fsync would add a round, and its bytes
Compaction.quickSync = Infinity

const SETTINGS = { blockSize: 1024 }
const SMALL_STEPS = path.join(__dirname, '..', 'helpers', 'small-steps.js')
const SIGNAL = path.join(__dirname, '..', 'helpers', 'signal-at-call.js')
const INTERRUPTED = /^flumelog: log: interrupted; the log is as it was, and the next compact goes on from here$/m
/** Bytes of the chunk that is being filled, of headers and of the map. */
const OTHER_BYTES = 20_000
const PAGE_SIZE = 4096
/** The greatest share of a log at which a compaction can be interrupted, about. */
const MOST = 0.9

tape('a compaction that was interrupted writes only what it has not copied yet', async (t) => {
  const file = testFolder(t)('log')
  const seqs = await makeLog(file)
  const whole = await compacted(copyOf(file))
  const log = await open(file, SETTINGS)
  await interrupt(log, 0.75)
  await log.close()
  t.ok(fs.existsSync(file + '.compacting'))
  const again = await compacted(file)
  t.ok(again.bytes < 0.25 * whole.bytes + OTHER_BYTES, `${again.bytes} bytes, and ${whole.bytes} for all of it`)
  t.deepEqual(again.values, whole.values)
  t.notOk(beside(file).some(name => name.includes('compacting')))
  t.equal(seqs.length - again.result.records, again.result.deleted)
})

tape('records that are deleted between an interrupted compaction and the next are gone, and what was copied is kept', async (t) => {
  const file = testFolder(t)('log')
  const seqs = await makeLog(file)
  const whole = await compacted(copyOf(file))
  const log = await open(file, SETTINGS)
  await interrupt(log, 0.75)
  await log.del([seqs[1], seqs[201], seqs.at(-1)])
  await log.append('more')
  await log.close()
  const again = await compacted(file)
  t.ok(again.bytes < 0.25 * whole.bytes + OTHER_BYTES, `${again.bytes} bytes, and ${whole.bytes} for all of it`)
  t.deepEqual(again.values, [...whole.values.filter(value => !/^(1|201|1999) /.test(value)), 'more'])
  t.equal(again.result.records, again.values.length)
})

tape('flumelog compact that is killed, or stopped by Ctrl-C, is continued by the same command', async (t) => {
  const name = testFolder(t)
  for (const [signal, code, stderr] of [['SIGKILL', null, /^$/], ['SIGTERM', 143, INTERRUPTED], ['SIGINT', 130, INTERRUPTED]]) {
    fs.rmSync(name('.'), { recursive: true })
    fs.mkdirSync(name('.'))
    await makeLog(name('log'))
    const before = fs.readFileSync(name('log'))
    const env = { TEST_SIGNAL: signal, TEST_NAME: 'writev', TEST_CALL: '30' }
    const stopped = await flumelog(['compact', 'log', '--yes'], { cwd: name('.'), env, preload: [SIGNAL, SMALL_STEPS] })
    t.equal(stopped.code, code, signal)
    t.match(stopped.stderr, stderr)
    t.ok(fs.readFileSync(name('log')).equals(before), 'the log is as it was')
    const whole = await compacted(copyOf(name('log')))
    const { size } = fs.statSync(name('log.compacting'))
    const again = await compacted(name('log'))
    t.ok(size > 0 && again.bytes < 0.9 * whole.bytes, `${again.bytes} bytes, and ${whole.bytes} for all of it`)
    t.deepEqual(again.values, whole.values)
  }
})

tape('whatever becomes of the log and the copy after an interruption, the next compaction is right', async (t) => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  t.comment(`SEED=${seed}`)
  const random = randomFrom(seed)
  const name = testFolder(t)
  const changes = {
    'the copy is damaged': (file) => change(file + '.compacting', random),
    'the map is damaged': (file) => change(file + '.compacting.map', random),
    'something is in front of the records': (file) => overwrite(file + '.compacting', 0, 100_000, 'x'),
    'something is in front of the records of a copy that is cut': (file) => {
      fs.truncateSync(file + '.compacting', 5000)
      overwrite(file + '.compacting', 4000, 50_000, 'x')
    },
    'the copy is no file': (file) => {
      fs.unlinkSync(file + '.compacting')
      execFileSync('mkfifo', [file + '.compacting'])
    },
    'the map is no file': (file) => {
      fs.unlinkSync(file + '.compacting.map')
      execFileSync('mkfifo', [file + '.compacting.map'])
    },
    'the copy is cut': (file) => fs.truncateSync(file + '.compacting', random.below(fs.statSync(file + '.compacting').size)),
    'the map is cut': (file) => fs.truncateSync(file + '.compacting.map', random.below(4096 * 2)),
    'the map is missing': (file) => fs.unlinkSync(file + '.compacting.map'),
    'the copy is missing': (file) => fs.unlinkSync(file + '.compacting'),
    'the copy is longer': (file) => fs.appendFileSync(file + '.compacting', Buffer.alloc(500_000, 'x')),
    'another log has taken its place': async (file) => {
      const other = name('other')
      fs.rmSync(other, { force: true })
      await makeLog(other, 'y')
      fs.copyFileSync(other, file)
    },
    'it is trimmed': (file) => using(file, log => log.trim({ lt: 60_000 })),
    'blocks have become holes': (file) => using(file, log => log.del({ gte: 20_000, lt: 24_000 })),
    'most is deleted': (file) => using(file, log => log.del({ lt: log.since.value })),
    'it has outgrown the copy': (file) => using(file, async log => { for (let i = 0; i < 60; i++) await log.append(Array.from({ length: 1000 }, () => '.'.repeat(100))) }),
    'it was interrupted again': (file) => using(file, log => interrupt(log, random() * MOST)),
    'it was interrupted when it dropped records': (file) => using(file, log => interrupt(log, random() * MOST, { keep: value => random() < 0.5 }))
  }
  for (const [what, run] of Object.entries(changes)) {
    const file = name('log')
    fs.rmSync(name('.'), { recursive: true })
    fs.mkdirSync(name('.'))
    await makeLog(file)
    await using(file, log => interrupt(log, random() * MOST))
    // and of a compaction that was interrupted twice
    if (random() < 0.3) await using(file, log => interrupt(log, random() * MOST))
    await run(file)
    const { start: before, values } = await contents(file)
    const again = await compacted(file)
    t.deepEqual(again.values, values, what)
    t.deepEqual(again.backward.reverse(), values, `${what}: backward`)
    t.ok(again.result.start > before && again.result.records === values.length, `${what}: ${JSON.stringify(again.result)}`)
    t.ok((await verify(file)).valid, `${what}: verified`)
    t.notOk(beside(file).some(name => name.includes('compacting')), 'no copy is left')
  }
})

tape('an unfinished copy stays at an opening for as long as it is of use, and goes when none is needed', async (t) => {
  const file = testFolder(t)('log')
  await makeLog(file)
  await using(file, log => interrupt(log, 0.5))
  await using(file, log => log.append('one'))
  t.ok(fs.existsSync(file + '.compacting'), 'the log was opened')
  await using(file, async log => { for (let i = 0; i < 50; i++) await log.append(Array.from({ length: 200 }, () => '.'.repeat(300))) })
  await using(file, log => log.append('two'))
  t.notOk(fs.existsSync(file + '.compacting'), 'the log has grown beyond it')
  await using(file, log => interrupt(log, 0.5))
  await using(file, log => log.compact({ keep: () => true }))
  await using(file, log => interrupt(log, 0.5, { keep: () => true }))
  t.ok(fs.existsSync(file + '.compacting'))
  await using(file, log => log.compact())
  t.notOk(fs.existsSync(file + '.compacting'), 'nothing is deleted')
})

/** @returns {Promise<number[]>} seqs of 2000 records; every tenth is deleted, but the first */
async function makeLog (file, fill = 'x') {
  const log = await open(file, SETTINGS)
  const seqs = []
  for (let n = 0; n < 2000; n++) seqs.push(await log.append(`${n} `.padEnd(20 + n * 7 % 90, fill)))
  await log.del(seqs.filter((_, n) => n % 10 === 5))
  await log.close()
  return seqs
}

/** Compacts a log up to a share of it. */
async function interrupt (log, share, options = {}) {
  const controller = new AbortController()
  const onProgress = ({ bytes, total }) => { if (bytes >= share * total) controller.abort() }
  await log.compact({ ...options, signal: controller.signal, onProgress }).catch(err => { if (err.name !== 'AbortError') throw err })
}

async function using (file, run) {
  const log = await open(file, SETTINGS)
  await run(log)
  await log.close()
}

async function contents (file) {
  const log = await open(file, SETTINGS)
  const values = []
  for await (const value of log.stream({ seqs: false })) values.push(String(value))
  const backward = []
  for await (const value of log.stream({ seqs: false, reverse: true })) backward.push(String(value))
  const { start } = log.flumelog
  await log.close()
  return { start, values, backward }
}

async function compacted (file) {
  const log = await open(file, SETTINGS)
  written.bytes = 0
  const result = await log.compact()
  const { bytes } = written
  await log.close()
  return { result, bytes, ...await contents(file) }
}

/** @returns {string} a copy of a log, without what is beside it */
function copyOf (file) {
  const copy = path.join(path.dirname(file), 'copy')
  fs.copyFileSync(file, copy)
  return copy
}

function beside (file) {
  return fs.readdirSync(path.dirname(file)).filter(name => name.startsWith('log')).sort()
}

function overwrite (file, offset, length, fill) {
  const fd = fs.openSync(file, 'r+')
  fs.writeSync(fd, Buffer.alloc(length, fill), 0, length, offset)
  fs.closeSync(fd)
}

/** Changes bytes of what was written, not of the sparse part in front of it. */
function change (file, random) {
  const bytes = fs.readFileSync(file)
  const first = bytes.findIndex((byte, offset) => byte !== 0 && offset >= PAGE_SIZE)
  const fd = fs.openSync(file, 'r+')
  for (let i = 0; i < 3; i++) fs.writeSync(fd, Buffer.from([random.below(256)]), 0, 1, first + random.below(bytes.length - first))
  fs.closeSync(fd)
}

/** Counts what compactions write. */
function countBytes () {
  const fs = require('fs')
  const { writev } = fs
  fs.writev = (fd, buffers, ...rest) => {
    for (const { length } of buffers) written.bytes += length
    return writev(fd, buffers, ...rest)
  }
}
