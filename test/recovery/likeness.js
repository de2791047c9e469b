'use strict'

// Files that are no logs, and files that have lost most of a log: which of them are opened.

const fs = require('fs')
const test = require('tape')
const zlib = require('zlib')
const FlumeLog = require('../..')
const { endOfRecords } = require('../../lib/format/validation')
const { promises } = require('../helpers/promises')
const { randomFrom } = require('../helpers/random')
const { testFolder } = require('../helpers/folder')
const { sealedBlock, tailOf, dataOf } = require('../helpers/bytes')
const { codeOf } = require('../helpers/reading')
const { thorough } = require('../helpers/thorough')

const RUNS = Number(process.env.RUNS ?? (thorough ? 300 : 30))
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const METADATA = '.meta'

/** Bytes that compress as little as those of any program. */
const noise = (random, size) => Buffer.from(Uint8Array.from({ length: size }, () => random.below(256)))

/** Files of other programs. @type {Record<string, (random: ReturnType<typeof randomFrom>) => Buffer>} */
const OTHERS = {
  'random bytes': (random) => noise(random, 1 + random.below(random.pick([20, 10000, 200000]))),
  zeros: (random) => Buffer.alloc(1 + random.below(200000)),
  gzip: (random) => zlib.gzipSync(noise(random, random.below(100000))),
  sqlite: (random) => Buffer.concat([Buffer.from('SQLite format 3\0\x10\0\x01\x01\0\x40\x20\x20'), Buffer.alloc(4096 - 24), noise(random, 4096 * random.below(30))]),
  'flumelog-offset': (random) => offsetFile(random, 1 + random.below(300)),
  'async-append-only-log': (random) => aaolFile(random, 1 + random.below(3), 20 + random.below(400)),
  'lines of JSON': (random) => jsonLines(random, 1 + random.below(2000)),
  'lines of JSON that start as a record would': (random) => withPair(jsonLines(random, 3000)),
  'a text that starts as a record would': (random) => withPair(Buffer.from('some words of a text, \t and a line.\r\n'.repeat(1000 + random.below(2000)), 'latin1'))
}

/** The first two bytes stand again at the distance that they say as the length of a record. */
function withPair (bytes) {
  bytes.copy(bytes, 2 + bytes.readUInt16LE(0), 0, 2)
  return bytes
}

function jsonLines (random, lines) {
  const text = 'x'.repeat(100)
  return Buffer.from(Array.from({ length: lines }, (_, i) => `${JSON.stringify({ id: i, text: text.slice(random.below(100)) })}\n`).join(''))
}

/** Each record: its length, its data, the length again, and the end of the file then, all of them big-endian. */
function offsetFile (random, records) {
  const bytes = Buffer.alloc(records * 400)
  let end = 0
  for (let i = 0; i < records; i++) {
    const length = 1 + random.below(380)
    bytes.writeUInt32BE(length, end)
    bytes.fill(0x61, end + 4, end + 4 + length)
    bytes.writeUInt32BE(length, end + 4 + length)
    bytes.writeUIntBE(end + 14 + length, end + 8 + length, 6)
    end += 14 + length
  }
  return bytes.subarray(0, end)
}

/** Records of the same length, so that each is followed by its own length: that of the next one. */
function aaolFile (random, blocks, length) {
  return Buffer.concat(Array.from({ length: blocks }, () => {
    const block = Buffer.alloc(65536)
    for (let at = 0; at + 2 + length < block.length; at += 2 + length) {
      block.writeUInt16LE(length, at)
      block.write(JSON.stringify({ key: random.below(1e9) }).padEnd(length), at + 2)
    }
    return block
  }))
}

test('a file of another program is no log, and is left as it is, whatever options it is opened with', async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  const inFolder = testFolder(t)
  const random = randomFrom(SEED)
  const opened = []
  let files = 0
  for (let i = 0; i < RUNS; i++) {
    for (const [what, make] of Object.entries(OTHERS)) {
      const bytes = make(random)
      // one of 65,536 files of random bytes does, and is what a truncated log would be
      if (what !== 'async-append-only-log' && !/ start/.test(what) && endOfRecords(bytes, 0, bytes.length) > 0) continue
      files++
      const options = { readOnly: random() < 0.5, blockSize: random.pick([undefined, 64, 512, 1024, 65536]) }
      const file = inFolder('file')
      fs.writeFileSync(file, bytes)
      const log = promises(FlumeLog(file, options))
      const code = await codeOf(log.onReady())
      await log.close()
      if (code !== 'flumelog:not-a-log') opened.push(`${code}: ${what}, ${bytes.length} bytes, ${JSON.stringify(options)}`)
      if (!fs.readFileSync(file).equals(bytes) || fs.readdirSync(inFolder('.')).length > 1) opened.push(`changed: ${what}, ${JSON.stringify(options)}`)
    }
  }
  t.deepEqual(opened, [], `${files} files`)
})

test('whatever bytes come before it, a log that was killed in its first write is opened, and is empty', async (t) => {
  const inFolder = testFolder(t)
  const random = randomFrom(SEED)
  const first = promises(FlumeLog(inFolder('first')))
  await first.append('first')
  const metadata = fs.readFileSync(inFolder('first') + METADATA)
  await first.close()
  for (const [what, make] of Object.entries(OTHERS)) {
    const bytes = make(random)
    if (endOfRecords(bytes, 0, bytes.length) > 0) continue
    const file = inFolder(what)
    fs.writeFileSync(file, bytes)
    fs.writeFileSync(file + METADATA, metadata)
    const reader = promises(FlumeLog(file, { readOnly: true }))
    await reader.onReady()
    t.equal(reader.log.since.value, -1, what)
    await reader.close()
    const log = promises(FlumeLog(file))
    t.equal((await log.onReady()).bytes, bytes.length)
    t.equal(await log.append('first'), 0)
    await log.close()
  }
})

test('a log without its FILE.meta is opened if its first record is whole, and what follows was torn', async (t) => {
  const inFolder = testFolder(t)
  const whole = tailOf([dataOf(100)])
  const squares = Buffer.from(Uint8Array.from({ length: 60000 }, (_, i) => i * i >> 4))
  const tails = {
    nothing: Buffer.alloc(0),
    'half a length': Buffer.from([7]),
    'half a record': tailOf([dataOf(300, 7)]).subarray(0, 150),
    'a record of which half was never written': Buffer.concat([tailOf([dataOf(300, 7)]).subarray(0, 150), Buffer.alloc(154, 1)]),
    'half a large record': tailOf([squares]).subarray(0, 50000),
    'half a padding': sealedBlock(512, [dataOf(100)]).subarray(104, 400),
    'half a padding of the largest block': sealedBlock(65536, [dataOf(100)]).subarray(104, 30000),
    zeros: Buffer.alloc(5000)
  }
  for (const [what, bytes] of Object.entries(tails)) {
    for (const readOnly of [true, false]) {
      const file = inFolder(what)
      fs.writeFileSync(file, Buffer.concat([whole, bytes]))
      const log = promises(FlumeLog(file, { readOnly }))
      await log.onReady()
      t.equal(log.log.since.value, 0, what)
      await log.close()
    }
  }
})

test('a log that is corrupt in its only block is opened if three of its records are whole', async (t) => {
  const inFolder = testFolder(t)
  const record = tailOf([dataOf(100)])
  // the length at its start ends within it
  const corrupt = Buffer.from(Uint8Array.from({ length: 1000 }, (_, i) => i < 2 ? i : i * i >> 2))
  for (const [before, after] of [[3, 0], [2, 1], [1, 2], [0, 3], [2, 0], [1, 1], [0, 2], [0, 0]]) {
    const file = inFolder(`${before}-${after}`)
    fs.writeFileSync(file, Buffer.concat([...new Array(before).fill(record), corrupt, ...new Array(after).fill(record)]))
    const log = promises(FlumeLog(file, { readOnly: true }))
    t.equal(await log.onReady().then(() => 'opened', ({ code }) => code), before + after >= 3 ? 'opened' : 'flumelog:not-a-log', `${before} before, ${after} after`)
    await log.close()
  }
})
