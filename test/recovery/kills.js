'use strict'

// Kills a process that appends to three logs, at any moment; everything it has acknowledged
// must be in the files. The next process continues with the same files, and is killed, too.
// `RUNS=1000 node test/recovery/kills.js` kills a thousand processes.

const tape = require('tape')
const fs = require('fs')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { start } = require('../helpers/processes')
const { numbered, isIntact, sizeOf, framesIn } = require('../helpers/numbered')
const { promises } = require('../helpers/promises')
const { collect } = require('../helpers/reading')
const { randomFrom } = require('../helpers/random')
const { thorough } = require('../helpers/thorough')
const { isHoleLength } = require('../../lib/format/hole')
const layout = require('../../lib/format/layout')

const KILLS = Number(process.env.RUNS ?? (thorough ? 40 : 12))
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
/** Number of processes per set of files; each set starts empty. */
const KILLS_A_SET = thorough ? 12 : 8
/** Number of sets tested concurrently, since starting a process is slow. */
const AT_A_TIME = 3

const VARIANTS = [
  [{ sync: 'interval', syncInterval: 5 }, { sync: 'always' }, { sync: 'never' }],
  [{ sync: 'interval', syncBytes: 20000 }, { sync: 'always', checksum: false }, { sync: 'never', checksum: false }]
]
const BLOCK_SIZES = [128, 1024, 4096, 65536]

tape(`the files contain everything that ${KILLS} killed processes had acknowledged, and only what they appended`, async (t) => {
  t.comment(`SEED=${SEED} repeats it, as far as the moments of the kills can be repeated`)
  const folder = testFolder(t)
  const counts = { kills: 0, acknowledged: 0, found: 0, deleted: 0, cut: 0 }
  let sets = 0
  const worker = async () => {
    while (counts.kills < KILLS) await oneSet(t, folder, sets++, counts)
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, worker))
  t.comment(JSON.stringify(counts))
  t.ok(counts.acknowledged > 0 && counts.found >= counts.acknowledged, `all of ${counts.acknowledged} acknowledged records are there`)
  t.ok(counts.deleted > 0, `${counts.deleted} deletions were acknowledged, and hold`)
})

/** One set of three files, with one kill after the other. */
async function oneSet (t, folder, set, counts) {
  const random = randomFrom(SEED + set)
  const logs = VARIANTS[set % VARIANTS.length].map((variant, i) => {
    const options = { blockSize: random.pick(BLOCK_SIZES), checksum: true, validate: isIntact, ...variant }
    return { file: folder(`log-${set}-${i}`), options, count: 0, end: 0, checked: 0, seqs: [], deleted: new Set(), maybeDeleted: new Set() }
  })
  for (let n = 0; n < KILLS_A_SET && counts.kills < KILLS; n++) {
    counts.kills++
    const messages = await liveAndDie(t, logs, random)
    await Promise.all(logs.map((log, i) => checked(log, () => compare(log, messages.filter(message => message.log === i), counts))))
  }
  for (const log of logs) {
    // so far only what was new was looked at
    log.checked = 0
    await checked(log, () => compare(log, [], counts))
    for (const suffix of ['', '.meta']) fs.rmSync(log.file + suffix, { force: true })
  }
}

async function checked (log, check) {
  try {
    await check()
  } catch (err) {
    err.message += ` (${log.file}, ${JSON.stringify(log.options)})`
    throw err
  }
}

/** @returns {Promise<any[]>} what a process told before it was killed */
async function liveAndDie (t, logs, random) {
  const process = start(t, 'append-until-killed.js', {
    seed: random.below(2 ** 31),
    logs: logs.map(({ file, options, count }) => ({ file, options, first: count + 1, calls: random.pick([5, 30, 200, 1e9]) }))
  })
  // a number of messages, and a little, so that it is any moment; or, at the latest, when nothing more comes
  const enough = random.pick([0, 1, 3, 30, 200, 500])
  const isEnough = () => process.messages.length >= enough || process.messages.filter(({ what }) => what === 'closed').length === logs.length
  await process.message(isEnough)
  await new Promise(resolve => setTimeout(resolve, random.below(6)))
  const { signal } = await process.kill()
  if (signal !== 'SIGKILL') throw new Error(`the process ended by itself:\n${process.stderr}`)
  return process.messages
}

/** What is in the file, against what was told of. */
async function compare (log, messages, counts) {
  const failure = messages.find(({ what }) => what === 'failed')
  if (failure) throw new Error(`${failure.message} (${failure.code})`)
  const opened = messages.find(({ what }) => what === 'opened')
  if (opened !== undefined) compareOpening(log, opened, counts)
  if (!fs.existsSync(log.file)) {
    if (opened !== undefined) throw new Error('the file is missing')
    return
  }
  for (const { what, number } of messages) {
    if (what === 'deleting') log.maybeDeleted.add(number)
    if (what === 'deleted') log.deleted.add(number)
  }
  counts.deleted += messages.filter(({ what }) => what === 'deleted').length

  const before = log.count
  const values = await read(log)
  const appended = messages.filter(({ what }) => what === 'appended')
  const promised = Math.max(before, appended.at(-1)?.number ?? 0)
  if (log.count < promised) throw new Error(`${promised} records were acknowledged, ${log.count} are there`)
  for (const { number, seq } of appended) {
    if (log.seqs[number - 1] !== seq) throw new Error(`record ${number} was acknowledged at ${seq}, it is at ${log.seqs[number - 1]}`)
  }
  for (let number = log.checked + 1; number <= log.count; number++) {
    compareRecord(log, number, values.get(log.seqs[number - 1]))
  }
  counts.acknowledged += promised - before
  counts.found += log.count - before
  log.checked = log.count
}

function compareOpening (log, { size, cut }, counts) {
  if (size !== log.end) throw new Error(`a reader saw the log end at ${log.end}, the next writer at ${size}`)
  if (cut === null) return
  counts.cut++
  if (fs.statSync(cut.filename).size !== cut.bytes) throw new Error(`${cut.filename} has not the ${cut.bytes} bytes that were cut off`)
}

function compareRecord (log, number, value) {
  const most = layout.maxRecordSize(log.options.blockSize, log.options.checksum)
  if (value === undefined) {
    if (!log.maybeDeleted.has(number)) throw new Error(`record ${number} is missing, and nobody deleted it`)
    log.deleted.add(number) // once gone, it must not come back
  } else if (log.deleted.has(number)) throw new Error(`record ${number} was deleted, and is there`)
  else if (!value.equals(numbered(number, sizeOf(number, most)))) throw new Error(`record ${number} is not what was appended`)
}

/**
 * Reads a file that nobody has repaired yet: counts the records in it, and
 * @returns {Promise<Map<number, Buffer>>} those that a reader is shown and that were not checked yet, by seq
 */
async function read (log) {
  const reader = FlumeLog(log.file, { ...log.options, readOnly: true })
  const { onReady, close } = promises(reader)
  await onReady()
  const from = log.checked === 0 ? 0 : log.seqs[log.checked - 1] + 1
  const shown = await collect(reader, { gte: from })
  log.end = reader.stats().size
  await close()
  for (let i = 1; i < shown.length; i++) if (shown[i].seq <= shown[i - 1].seq) throw new Error('the records are out of order')

  const start = from - from % log.options.blockSize
  const bytes = bytesOf(log.file, start, log.end)
  const frames = seqsIn(log, bytes, start).filter(seq => seq >= from)
  log.seqs = log.seqs.slice(0, log.checked).concat(frames)
  log.count = log.seqs.length
  const known = new Set(frames)
  if (!shown.every(({ seq }) => known.has(seq))) throw new Error('a record is shown that is not in the file')
  return new Map(shown.map(({ seq, value }) => [seq, value]))
}

/**
 * Where records start, those in holes too: the sizes of these are known from their numbers.
 * @param {Buffer} bytes of the file
 * @param {number} start offset of them, where a block starts
 */
function seqsIn (log, bytes, start) {
  const { blockSize, checksum = true } = log.options
  const most = layout.maxRecordSize(blockSize, checksum)
  const seqs = []
  let number = 1 + log.seqs.slice(0, log.checked).filter(seq => seq < start).length
  for (const offset of framesIn(bytes, blockSize)) {
    const length = layout.readLength(bytes, offset)
    if (!isHoleLength(length, blockSize) || !layout.isDeleted(bytes, offset)) {
      seqs.push(start + offset)
      number++
      continue
    }
    for (let position = 0; layout.fits(blockSize, checksum, position, sizeOf(number, most)); number++) {
      seqs.push(start + offset + position)
      position += sizeOf(number, most) + layout.FRAME_SIZE
    }
  }
  return seqs
}

function bytesOf (file, start, end) {
  const bytes = Buffer.alloc(end - start)
  const fd = fs.openSync(file, 'r')
  fs.readSync(fd, bytes, 0, bytes.length, start)
  fs.closeSync(fd)
  return bytes
}
