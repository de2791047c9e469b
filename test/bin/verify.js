'use strict'

// flumelog verify: finds all corrupt blocks, and reports no valid ones.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('../..')
const { findProblem } = require('../../lib/format/validation')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { pathFile } = require('../../lib/storage/path-file')
const { verify } = require('../../lib/maintenance/verify')
const { sealedBlock, tailOf, dataOf } = require('../helpers/bytes')
const { filesIn, newFile, testFolder } = require('../helpers/folder')
const { ControlledFile } = require('../helpers/controlled-file')
const { makeLog, overwrite } = require('../helpers/logs')
const { start } = require('../helpers/processes')
const { promises } = require('../helpers/promises')
const { event } = require('../helpers/reading')
const { flumelog } = require('../helpers/warm-flumelog')

const RECORDS = Array.from({ length: 100 }, (_, i) => `record number ${i}`)
const READ_ONLY = { readOnly: true }

/** @param {Buffer} bytes */
const verifyBytes = (bytes) => verify(pathFile(newFile(bytes), READ_ONLY))

test('a valid log is reported as valid, with exit code 0', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), RECORDS, { blockSize: 256 })
  const run = async (file) => {
    const { code, stdout, stderr } = await flumelog(['verify', file], { cwd: name('.') })
    t.equal(stderr, '')
    t.equal(code, 0)
    return stdout
  }
  t.equal(await run('log'), 'log: valid: 9 blocks, 100 records, 2.13 kB\n')
  await makeLog(name('plain'), RECORDS, { blockSize: 256, checksum: false })
  t.equal(await run('plain'), 'plain: valid: 9 blocks, 100 records, 2.11 kB; no block has a checksum, so only the structure was checked there\n')
  fs.appendFileSync(name('mixed'), Buffer.concat([
    sealedBlock(64, [dataOf(20)]), sealedBlock(64, [dataOf(20)], { checksum: false }), tailOf([dataOf(9)])
  ]))
  t.equal(await run('mixed'), 'mixed: valid: 3 blocks, 3 records, 141 bytes; 1 block has no checksum, so only the structure was checked there\n')
  await makeLog(name('empty'), [])
  t.equal(await run('empty'), 'empty: valid: 0 blocks, 0 records, 0 bytes\n')
})

test('each corrupt range is printed with a reason, and the exit code is 1', async (t) => {
  const name = testFolder(t)
  const file = name('log')
  await makeLog(file, Array.from({ length: 300 }, (_, i) => `record number ${i}`), { blockSize: 256 })
  const before = fs.readFileSync(file)
  overwrite(file, 256 + 30, 'X')
  overwrite(file, 3 * 256, Buffer.alloc(3 * 256))
  overwrite(file, 8 * 256, Buffer.from([99]))
  overwrite(file, 10 * 256 + 252, Buffer.from([3]))
  overwrite(file, before.length, 'torn')
  const damaged = fs.readFileSync(file)

  const { code, stdout, stderr } = await flumelog(['verify', 'log'], { cwd: name('.') })
  t.equal(code, 1)
  t.equal(stderr, '')
  const lines = stdout.trimEnd().split('\n')
  t.match(lines[0], /^corrupt 256 to 512, block 1: checksum mismatch: computed [0-9a-f]{8}, stored [0-9a-f]{8}$/)
  t.equal(lines[1], 'corrupt 768 to 1536, blocks 3 to 5: invalid padding offset 0 (at 1020)', 'blocks in a row, damaged in one way, are one range')
  t.match(lines[2], /^corrupt 2048 to 2304, block 8: the length before the record is 99, after it \d+$/)
  t.match(lines[3], /^corrupt 2560 to 2816, block 10: invalid padding offset 3 \(at 2812\)$/)
  t.match(lines[4], /^torn 6782 to 6786, 4 bytes: 4 bytes are left, too few for a record$/)
  t.match(lines[5], /^log: 6 of 27 blocks are corrupt \(1\.54 kB\), and the last 4 bytes are torn; flumelog repair writes a valid copy$/)
  t.equal(lines.length, 6)
  t.ok(fs.readFileSync(file).equals(damaged), 'nothing was changed')
  t.deepEqual(filesIn(name('.')), ['log'], 'and no file was made')
})

test('--json prints the same as JSON', async (t) => {
  const file = testFolder(t)('log')
  await makeLog(file, RECORDS, { blockSize: 256 })
  const sound = await flumelog(['verify', file, '--json'])
  t.equal(sound.code, 0)
  t.deepEqual(JSON.parse(sound.stdout), {
    file, valid: true, size: fs.statSync(file).size, start: 0, blockSize: 256, blocks: 9, sealed: 8, checksummed: 8, records: 100, closed: true, ranges: []
  })
  overwrite(file, 256 + 30, 'X')
  overwrite(file, 512 + 30, Buffer.alloc(0))
  const damaged = await flumelog(['verify', file, '--json'])
  t.equal(damaged.code, 1)
  const { valid: isValid, ranges } = JSON.parse(damaged.stdout)
  t.equal(isValid, false)
  t.equal(ranges.length, 1)
  const { reason, ...range } = ranges[0]
  t.deepEqual(range, { kind: 'corrupt', start: 256, end: 512, blocks: 1, offset: 256 })
  t.match(reason, /^checksum mismatch: /)
})

test('a block with a flipped bit is not taken for a torn one where the file ends with it', async (t) => {
  const blockSize = 64
  const bytes = Buffer.concat([sealedBlock(blockSize, [dataOf(3), dataOf(2), dataOf(30)]), sealedBlock(blockSize, [dataOf(50)]), sealedBlock(blockSize, [dataOf(20), dataOf(20)])])
  const torn = []
  for (let bit = 2 * blockSize * 8; bit < 3 * blockSize * 8; bit++) {
    const flipped = Buffer.from(bytes)
    flipped[bit >> 3] ^= 1 << (bit & 7)
    const { ranges } = await verifyBytes(flipped)
    if (ranges.length !== 1 || ranges[0].kind !== 'corrupt') torn.push({ bit, ranges })
  }
  t.deepEqual(torn, [])
})

test('corruption in the middle of the tail is found', async (t) => {
  const tail = tailOf([dataOf(10), dataOf(10), dataOf(10)])
  tail[15] = 99
  const { ranges, end, size } = await verifyBytes(Buffer.concat([sealedBlock(64, [dataOf(50)]), tail]))
  t.equal(end, size)
  t.deepEqual(ranges, [{ kind: 'corrupt', start: 64, end: 64 + 42, blocks: 1, offset: 64 + 14, reason: ranges[0].reason }])
})

test('an unreadable block is reported, and all others are checked', async (t) => {
  const bytes = Buffer.concat(Array.from({ length: 3000 }, (_, i) => sealedBlock(64, [dataOf(20, i % 250 + 1)])))
  bytes[2000 * 64 + 5] ^= 1
  const file = new ControlledFile(newFile(bytes))
  file.failing.add('read')
  file.isMeant = ({ offset, size }) => [4 * 64, 2900 * 64].some(at => offset < at + 10 && offset + size > at)
  const { ranges, counts } = await verify(file.logFile(READ_ONLY))
  t.deepEqual(ranges.map(({ start, end }) => [start, end]), [[4 * 64, 5 * 64], [2000 * 64, 2001 * 64], [2900 * 64, 2901 * 64]])
  t.equal(ranges[0].reason, 'cannot be read: EIO: made to fail, read')
  t.equal(counts.records, 2997)
})

test('nothing is reported as corrupt while another process appends and deletes', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file, { blockSize: 512 }))
  const seqs = []
  const over = { isTrue: false }
  const writing = write()
  const codes = []
  // before that there may be no file
  while (seqs.length === 0) await event(setImmediate)
  for (let i = 0; i < 4; i++) {
    const { code, stdout } = await flumelog(['verify', file])
    codes.push(code)
    if (code !== 0) t.comment(stdout)
  }
  over.isTrue = true
  await writing
  await log.close()
  t.deepEqual(codes, [0, 0, 0, 0], `with ${seqs.length} records`)

  async function write () {
    for (let i = 0; !over.isTrue; i++) {
      seqs.push(await log.append(Array.from({ length: 1 + i % 60 }, () => dataOf(1 + i % 90))))
      if (i % 5 === 0) await log.del(seqs[Math.floor(i / 2)])
    }
  }
})

test('a log that is open is reported as such, and what its writer has not acknowledged is not checked', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  await log.append('a')
  // its writer tells readers in the next turn of the event loop
  await event(setImmediate)
  await event(setImmediate)
  // as in the middle of a write
  fs.appendFileSync(file, Buffer.alloc(1000, 1))
  const { code, stdout, stderr } = await flumelog(['verify', file])
  t.equal(code, 0)
  t.match(stdout, /: valid: 1 block, 1 record, 5 bytes$/m)
  t.match(stderr, /^.*log: a program has this log open for writing; what it has not acknowledged yet was not checked\n$/)
  const figures = JSON.parse((await flumelog(['stat', file, '--json'])).stdout)
  t.deepEqual([figures.size, figures.torn.bytes, figures.closed], [5, 0, false], 'nor does stat count it')
  fs.truncateSync(file, 5)
  await log.close()
})

test('a healthy log is not reported as torn while an atomic batch is synced', async (t) => {
  const file = testFolder(t)('log')
  const made = pathFile(file, { readOnly: false, lock: true })
  const reports = []
  let isWatched = false
  const { sync } = made
  const log = promises(createLog(Object.assign(made, {
    sync: (cb) => (isWatched ? verifyAgain() : Promise.resolve()).then(() => sync(cb))
  }), settingsOf({ blockSize: 256 })))
  await log.append('first')
  isWatched = true
  await log.append(['two', 'three', 'four'], { atomic: true })
  isWatched = false
  await verifyAgain()
  await log.close()
  t.ok(reports.length > 2, `${reports.length} reports`)
  t.deepEqual(reports.map(({ ranges }) => ranges), reports.map(() => []))
  t.deepEqual([reports[0].counts.records, reports.at(-1).counts.records], [1, 4])

  async function verifyAgain () {
    // what is acknowledged is told in the next turn of the event loop
    await event(setImmediate)
    await event(setImmediate)
    reports.push(await verify(pathFile(file, { readOnly: true, lock: false })))
  }
})

test('a log that was not closed is reported as such', async (t) => {
  const file = testFolder(t)('log')
  const writer = start(t, 'open-logs.js', [{ file, options: {} }])
  await writer.message(({ what }) => what === 'opened')
  writer.send({ append: 'a' })
  await writer.message(({ what }) => what === 'appended')
  await writer.kill()
  const { code, stdout, stderr } = await flumelog(['verify', file])
  t.equal(code, 0)
  t.match(stdout, /: valid: 1 block, 1 record, 5 bytes$/m)
  t.match(stderr, /^.*log: a program has this log open for writing, or stopped without closing it; torn writes are truncated when it is next opened for writing\n$/)
})

test('a torn write after the recovery point is reported, and not truncated', async (t) => {
  const file = testFolder(t)('log')
  await makeLog(file, RECORDS, { blockSize: 256 })
  const whole = fs.statSync(file).size
  const crashed = promises(FlumeLog(file))
  await crashed.append('one more')
  fs.copyFileSync(file, file + '2')
  fs.copyFileSync(file + '.meta', file + '2.meta')
  await crashed.close()
  overwrite(file + '2', whole + 12, Buffer.alloc(1000, 1))
  const { code, stdout } = await flumelog(['verify', file + '2'])
  t.equal(code, 1)
  t.match(stdout, new RegExp(`^torn ${whole + 12} to ${whole + 1012}, 1,000 bytes: `))
  t.match(stdout, /log2: the last 1,000 bytes are torn/)
})

test('an interrupted deletion is not corruption, since opening completes it', async (t) => {
  const file = testFolder(t)('log')
  const seqs = await makeLog(file, RECORDS, { blockSize: 256 })
  const before = fs.readFileSync(file)
  const log = promises(FlumeLog(file, { sync: 'always' }))
  await log.del(seqs[15])
  const point = fs.readFileSync(file + '.meta')
  await log.close()
  const after = fs.readFileSync(file)

  // one half of the block is new, the other old
  const block = Math.floor(seqs[15] / 256) * 256
  const torn = Buffer.from(before)
  after.copy(torn, block, block, block + seqs[15] % 256 + 8)
  t.notEqual(findProblem(torn.subarray(block, block + 256), true), null, 'the block is torn')
  fs.writeFileSync(file, torn)
  t.equal((await flumelog(['verify', file])).code, 1, 'without the recovery point it is damage')
  fs.writeFileSync(file + '.meta', point)
  const { code, stdout } = await flumelog(['verify', file])
  t.equal(code, 0, 'with it, it is not')
  t.match(stdout, /99 records/)
})

test('a terminal shows a progress bar, which is cleared at the end', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  for (let i = 0; i < 8; i++) await log.append(Array.from({ length: 20 }, () => dataOf(60000)))
  await log.close()
  for (const columns of [80, 120]) {
    const { stdout, stderr } = await flumelog(['verify', file], { columns })
    t.match(stderr, /verify █+░+ +\d+% {2}\d\.\d\d MB of 10\.5 MB {2}\d+ s left/, 'a bar')
    // eslint-disable-next-line no-control-regex
    const widths = stderr.split(/\x1b\[\d*[A-Z]|\x1b\[\?\d+[a-z]|\x1b[78]|\r|\n/).map(text => text.length)
    t.ok(Math.max(...widths) < columns, `narrower than ${columns} columns`)
    t.ok(stderr.endsWith('\x1b[2K\x1b[?7h'), 'in the end the line is cleared, and text wraps again')
    t.match(stdout, /: valid: /)
  }
  const { stderr } = await flumelog(['verify', file])
  t.equal(stderr, '', 'elsewhere there is none')
})
