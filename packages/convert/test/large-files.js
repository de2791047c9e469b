'use strict'

// Imports of files that the packages have made, killed several times before they are complete. Small here:
// `node test/import/large-files.js --megabytes 2000` is the long run.

const fs = require('fs')
const os = require('os')
const path = require('path')
const { promisify } = require('util')
const test = require('tape')
const AsyncAppendOnlyLog = require('async-append-only-log')
const OffsetLog = require('flumelog-offset')
const { crc32 } = require('../../../lib/format/crc32')
const { OutFile } = require('../lib/out-file')
const { OffsetWriter } = require('../lib/writers')
const { OffsetParser } = require('../lib/offset-file')
const { flumelog } = require('../../../test/helpers/command-line')

const SIGNAL = path.join(__dirname, '../../../test/helpers/signal-at-call.js')
const option = process.argv.indexOf('--megabytes')
const BYTES = (option === -1 ? 4 : Number(process.argv[option + 1])) * 1e6
/** In the long run, tmpfs may be too small, or all of the memory. */
const PARENT = process.env.TEST_FOLDER ?? os.tmpdir()
const BATCH = 5000
const MAX_PEAK = 250 * 1024 * 1024

const MAKERS = {
  'flumelog-offset-48': async (file, batches) => {
    const log = OffsetLog(file, { offsetCodec: 48 })
    for (const batch of batches) await promisify(log.append)(batch)
  },
  'async-append-only-log': async (file, batches) => {
    const log = AsyncAppendOnlyLog(file, { blockSize: 65536, writeTimeout: 1 })
    for (const batch of batches) {
      await promisify(log.append)(batch)
      await promisify(log.onDrain)()
    }
    await promisify(log.close)()
  }
}

for (const [format, make] of Object.entries(MAKERS)) {
  test(`${format}: a file of ${BYTES / 1e6} MB is imported, though imports of it were killed before`, async (t) => {
    const folder = fs.mkdtempSync(path.join(PARENT, 'flumelog-test-'))
    t.teardown(() => fs.rmSync(folder, { recursive: true, force: true }))
    const made = { records: 0, bytes: 0, digest: 0 }
    await make(path.join(folder, 'old'), batchesOf(made))
    let kills = 0
    let ended
    for (; ; kills++) {
      const env = { TEST_SIGNAL: 'SIGKILL', TEST_NAME: 'writev', TEST_CALL: String(3 + kills ** 3 * 17) }
      ended = await flumelog(['import', 'old', 'new'], { cwd: folder, preload: [SIGNAL], env })
      if (ended.signal !== 'SIGKILL') break
    }
    t.equal(ended.code, 0, ended.stderr)
    t.ok(kills > 0, `${kills} kills`)
    t.match(ended.stdout, new RegExp(`^compared: ${made.records.toLocaleString('en')} records .* \\(CRC-32 ${made.digest.toString(16).padStart(8, '0')}\\)$`, 'm'))
    t.deepEqual(fs.readdirSync(folder).filter(file => file !== 'old.stats').sort(), ['new', 'new.import-map', 'new.meta', 'old'])
    const { importLog } = require('..')
    const { records, digest } = await importLog(path.join(folder, 'old'), path.join(folder, 'anew'))
    t.deepEqual({ records, digest }, { records: made.records, digest: made.digest })
    if (BYTES > 1e8) t.comment(`peak RSS, with that of the package: ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB of ${MAX_PEAK / 1024 / 1024}`)
  })
}

function * batchesOf (made) {
  let n = 0
  while (made.bytes < BYTES) {
    const batch = Array.from({ length: BATCH }, () => Buffer.from(`{"n":${n++},"text":"${'lorem ipsum '.repeat(1 + n % 23)}"}`))
    const length = Buffer.alloc(2)
    const framed = Buffer.concat(batch.flatMap((data) => {
      length.writeUInt16LE(data.length)
      return [Buffer.from(length), data, Buffer.from(length)]
    }))
    made.digest = crc32(framed, made.digest)
    made.records += batch.length
    made.bytes += framed.length - 4 * batch.length
    yield batch
  }
}

test('offsets beyond 4 GiB and 256 TiB are written and read', (t) => {
  for (const [bits, offset] of [[48, 5 * 2 ** 30], [48, 2 ** 32 - 20], [53, 2 ** 32 - 20], [53, 2 ** 50 + 12345]]) {
    const file = Object.assign(new OutFile(-1), { offset })
    const writer = new OffsetWriter(file, 'log', bits)
    for (let i = 1; i < 10; i++) writer.add(Buffer.alloc(i, 'data'), 0, i, 0)
    const parser = new OffsetParser(bits, file.size)
    const items = []
    parser.parse(file.buffer.subarray(0, file.used), 0, offset, true, items)
    t.equal(parser.problem, '')
    t.deepEqual(items.map(({ size }) => size), [1, 2, 3, 4, 5, 6, 7, 8, 9], `${bits} bits, from ${offset} on`)
    t.equal(items[0].offset, offset)
    const other = new OffsetParser(bits, file.size)
    other.parse(file.buffer.subarray(0, file.used), 0, offset - 2 ** 32, true, [])
    t.notEqual(other.problem, '', 'and nowhere else')
  }
  t.throws(() => new OffsetWriter({ size: 2 ** 32 - 10, used: 0, reserve () {} }, 'log', 32).add(Buffer.from('too far'), 0, 7, 0), { code: 'flumelog:too-large' })
  t.end()
})
