'use strict'

// flumelog repair: writes a valid copy with all records of valid blocks.

const fs = require('fs')
const path = require('path')
const test = require('tape')
const FlumeLog = require('../..')
const { filesIn, testFolder } = require('../helpers/folder')
const { isClosed } = require('../helpers/left-metadata')
const { start, refuses } = require('../helpers/command-line')
const { makeLog, readLog, overwrite } = require('../helpers/logs')
const { promises } = require('../helpers/promises')
const { flumelog } = require('../helpers/warm-flumelog')

const BLOCK_SIZE = 256
const RECORDS = Array.from({ length: 100 }, (_, i) => `record number ${i}`)
const HELPERS = path.join(__dirname, '..', 'helpers')

/**
 * A log with three corrupt blocks: one where only the checksum is wrong, one with a
 * broken record in its middle, one of zeros.
 * @param {string} file
 */
async function makeDamaged (file) {
  const seqs = await makeLog(file, RECORDS, { blockSize: BLOCK_SIZE })
  const broken = seqs.filter(seq => inBlock(seq) === 3)
  overwrite(file, BLOCK_SIZE + 30, 'X')
  overwrite(file, broken[5], Buffer.from([200]))
  overwrite(file, 6 * BLOCK_SIZE, Buffer.alloc(BLOCK_SIZE))
  return { seqs, broken, bytes: fs.readFileSync(file) }
}

const inBlock = (seq) => Math.floor(seq / BLOCK_SIZE)

/** @param {string} file */
async function isValid (file) {
  return (await flumelog(['verify', file])).code === 0
}

const found = async (file) => (await readLog(file)).map(({ seq, value }) => [seq, value.toString()])

test('repair writes a copy in which every record of a valid block keeps its offset', async (t) => {
  const name = testFolder(t)
  const { seqs, bytes } = await makeDamaged(name('log'))
  const { code, stdout, stderr } = await flumelog(['repair', 'log'], { cwd: name('.') })
  t.equal(code, 0)
  t.equal(stderr, '')
  const lines = stdout.trimEnd().split('\n')
  t.match(lines[0], /^omitted 256 to 512, block 1: checksum mismatch: /)
  t.match(lines[1], /^omitted 768 to 1024, block 3: record length 200 runs past the end \(at \d+\)$/)
  t.match(lines[2], /^omitted 1536 to 1792, block 6: invalid padding offset 0 \(at 1788\)$/)
  t.match(lines[3], /^log.repaired: valid: \d+ records; log is unchanged$/)
  t.equal(lines[4], 'All records kept their offsets.')
  t.match(lines[5], /^Views may still contain omitted records; delete these views to have them rebuilt\.$/)
  t.equal(lines.length, 6)

  t.deepEqual(filesIn(name('.')), ['log', 'log.repaired'])
  t.ok(fs.readFileSync(name('log')).equals(bytes), 'the log was not changed')
  t.ok(await isValid(name('log.repaired')), 'the copy is valid')
  t.equal(fs.statSync(name('log.repaired')).size, bytes.length, 'and as large')
  const expected = RECORDS.map((record, i) => [seqs[i], record]).filter(([seq]) => ![1, 3, 6].includes(inBlock(seq)))
  t.deepEqual(await found(name('log.repaired')), expected)
  t.match(lines[3], new RegExp(` ${expected.length} records`))

  t.match((await flumelog(['repair', 'log'], { cwd: name('.') })).stdout, /^log\.repaired\.2: valid: /m, 'a copy that is there already is not written over')
})

test('a repair that keeps no record fails', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), RECORDS.slice(0, 14), { blockSize: BLOCK_SIZE })
  fs.truncateSync(name('log'), BLOCK_SIZE)
  fs.rmSync(name('log.meta'), { force: true })
  overwrite(name('log'), 30, 'X')
  const { code, stdout } = await flumelog(['repair', 'log'], { cwd: name('.') })
  t.equal(code, 1)
  t.match(stdout, /^log\.repaired: valid: 0 records/m)
  t.match(stdout, /NO RECORD WAS KEPT/)
})

test('--in-place replaces the log with the copy, and keeps the old file', async (t) => {
  const name = testFolder(t)
  const { bytes } = await makeDamaged(name('log'))
  fs.chmodSync(name('log'), 0o640)
  const { code, stdout } = await flumelog(['repair', '--in-place', 'log'], { cwd: name('.') })
  t.equal(code, 0)
  t.match(stdout, /^log: valid: \d+ records; the old file is log\.corrupt$/m)
  t.deepEqual(filesIn(name('.')), ['log', 'log.corrupt'])
  t.ok(fs.readFileSync(name('log.corrupt')).equals(bytes), 'byte for byte')
  t.equal(fs.statSync(name('log')).mode & 0o777, 0o640, 'the copy may be read and written by those who could before')
  t.ok(await isValid(name('log')))

  overwrite(name('log'), 2 * BLOCK_SIZE + 30, 'X')
  t.match((await flumelog(['repair', '-i', 'log'], { cwd: name('.') })).stdout, /the old file is log\.corrupt\.2$/m, 'the next one gets a number')
  t.ok(fs.readFileSync(name('log.corrupt')).equals(bytes), 'and the first is as it was')
})

test('a valid log is not copied', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), RECORDS)
  const { code, stdout } = await flumelog(['repair', 'log', '--in-place'], { cwd: name('.') })
  t.equal(code, 0)
  t.equal(stdout, 'log: valid; nothing to repair, nothing written\n')
  t.deepEqual(filesIn(name('.')), ['log'])
})

test('the copy of a log with a torn tail ends with the last whole record', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), RECORDS, { blockSize: BLOCK_SIZE })
  const whole = fs.readFileSync(name('log'))
  fs.appendFileSync(name('log'), 'torn')
  const { code, stdout } = await flumelog(['repair', 'log'], { cwd: name('.') })
  t.equal(code, 0)
  t.match(stdout, new RegExp(`^truncated ${whole.length} to ${whole.length + 4}, 4 bytes: `))
  t.ok(fs.readFileSync(name('log.repaired')).equals(whole))
  t.deepEqual(filesIn(name('.')), ['log', 'log.repaired'], 'nothing else was written')
})

test('repair after a crash respects the recovery point, and keeps it with the old file', async (t) => {
  const name = testFolder(t)
  await makeDamaged(name('first'))
  const open = promises(FlumeLog(name('first')))
  await open.append(['one more', 'and another'])
  for (const rest of ['', '.meta']) fs.copyFileSync(name('first' + rest), name('log' + rest))
  await open.close()
  const { size } = fs.statSync(name('log'))
  overwrite(name('log'), size - 3, 'XXX')
  const bytes = fs.readFileSync(name('log'))
  const point = fs.readFileSync(name('log.meta'))

  const { code, stdout } = await flumelog(['repair', 'log', '--in-place'], { cwd: name('.') })
  t.equal(code, 0)
  t.match(stdout, new RegExp(`^truncated ${size - 15} to ${size}, 15 bytes: `, 'm'))
  t.ok(fs.readFileSync(name('log.corrupt')).equals(bytes))
  t.ok(fs.readFileSync(name('log.corrupt.meta')).equals(point))
  t.ok(isClosed(name('log')))
  t.ok(await isValid(name('log')))
  t.equal((await found(name('log'))).at(-1)[1], 'one more')
})

test('repair of a symbolic link repairs its target', async (t) => {
  const name = testFolder(t)
  fs.mkdirSync(name('real'))
  const { bytes } = await makeDamaged(name('real/log'))
  fs.writeFileSync(name('real/log.meta'), 'a recovery point')
  fs.symlinkSync(path.join('real', 'log'), name('link'))
  const { code } = await flumelog(['repair', name('link'), '--in-place'])
  t.equal(code, 0)
  t.ok(fs.lstatSync(name('link')).isSymbolicLink())
  t.ok(fs.readFileSync(name('real/log.corrupt')).equals(bytes))
  t.ok(await isValid(name('link')))
  t.equal(fs.readFileSync(name('real/log.corrupt.meta'), 'utf8'), 'a recovery point', 'what belongs to the old file stays with it')
})

test('repair fails while another program has the log open for writing', async (t) => {
  const name = testFolder(t)
  const { bytes } = await makeDamaged(name('log'))
  const log = promises(FlumeLog(name('log')))
  await log.onReady()
  const refused = await flumelog(['repair', name('log'), '--in-place'])
  refuses(t, refused, 1, /log: another program has this log open for writing; repair needs it for itself: close it there first$/m, 'repair')
  await log.close()
  t.ok(fs.readFileSync(name('log')).equals(bytes))
  t.deepEqual(filesIn(name('.')), ['log'])
})

test('repair fails while processes share the log, whichever of them owns it, and says that it needs it for itself', async (t) => {
  const name = testFolder(t)
  const { bytes } = await makeDamaged(name('log'))
  const owner = promises(FlumeLog(name('log'), { shared: true }))
  const client = promises(FlumeLog(name('log'), { shared: true }))
  await client.onReady()
  const pattern = /log: several programs may share this log, and one of them has it open; repair needs it for itself: close it in all of them first$/m
  refuses(t, await flumelog(['repair', name('log'), '--in-place']), 1, pattern, 'repair')
  await owner.close()
  await client.append('x')
  t.equal(client.log.role, 'owner')
  refuses(t, await flumelog(['repair', name('log'), '--in-place']), 1, pattern, 'repair')
  await client.close()
  t.ok(fs.readFileSync(name('log')).subarray(0, bytes.length).equals(bytes))
  t.equal((await flumelog(['repair', name('log')])).code, 0)
})

test('a full disk while the copy is written leaves everything unchanged', async (t) => {
  const name = testFolder(t)
  const { bytes } = await makeDamaged(name('log'))
  for (const args of [[], ['--in-place']]) {
    const ended = await flumelog(['repair', name('log'), ...args], {
      preload: [path.join(HELPERS, 'small-disk.js')],
      env: { TEST_DISK_SIZE: '1000' }
    })
    refuses(t, ended, 1, /the disk is full; free some space and try again$/m, args.join() || 'repair')
    t.deepEqual(filesIn(name('.')), ['log'])
    t.ok(fs.readFileSync(name('log')).equals(bytes))
  }
})

test('Ctrl-C while the copy is written leaves everything unchanged; a partial copy left by a kill is overwritten', async (t) => {
  const name = testFolder(t)
  const { bytes } = await makeDamaged(name('log'))
  const stuck = () => start(t, ['repair', name('log'), '--in-place'], { preload: [path.join(HELPERS, 'stuck-disk.js')] })
  const interrupted = stuck()
  await isThere(name('log.unfinished'))
  interrupted.kill('SIGINT')
  await isThere(name('log.unfinished'), false)
  const { code } = await interrupted.kill('SIGINT')
  t.equal(code, 130, 'when it is pressed again, it does not wait for the disk')
  t.deepEqual(filesIn(name('.')), ['log'])

  const killed = stuck()
  await isThere(name('log.unfinished'))
  fs.writeFileSync(name('log.unfinished'), 'half a copy '.repeat(1000))
  await killed.kill('SIGKILL')
  t.ok(fs.readFileSync(name('log')).equals(bytes))
  t.equal((await flumelog(['repair', name('log')])).code, 0)
  t.deepEqual(filesIn(name('.')), ['log', 'log.repaired'])
  t.ok(await isValid(name('log.repaired')))
})

/**
 * @param {string} file
 * @param {boolean} [is] false: waits until it is gone
 */
async function isThere (file, is = true) {
  while (fs.existsSync(file) !== is) await new Promise(resolve => setTimeout(resolve, 10))
}
