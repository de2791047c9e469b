'use strict'

// An owner of a shared log gets random bytes and valid conversations with something changed,
// over many connections, while clients that behave go on appending: these notice nothing.
// `node test/sharing/bad-clients.js --frames 1000000 --seed 1` runs longer, and tells how
// much memory the owner takes.

const test = require('tape')
const { parseArgs } = require('util')
const FlumeLog = require('../..')
const { verify } = require('../../lib/maintenance/verify')
const { pathFile } = require('../../lib/storage/path-file')
const { badConversation } = require('../helpers/bad-conversations')
const { testFolder } = require('../helpers/folder')
const { isClosed } = require('../helpers/left-metadata')
const { numbered, numberOf, isIntact } = require('../helpers/numbered')
const { PlainClient } = require('../helpers/plain-client')
const { start } = require('../helpers/processes')
const { promises } = require('../helpers/promises')
const { randomFrom } = require('../helpers/random')
const { RawClient } = require('../helpers/raw-client')
const { event } = require('../helpers/reading')

const { values: args } = parseArgs({ options: { frames: { type: 'string' }, seed: { type: 'string' } } })
const FRAMES = Number(args.frames ?? 20_000)
const SEED = Number(args.seed ?? process.env.SEED ?? Date.now() % 2 ** 31)
const BLOCK_SIZE = 4096
/** Bad clients at a time. */
const CONNECTIONS = 16
/** Records of each good client are numbered from a multiple of this on. */
const RANGE = 1e7
const MIB = 2 ** 20
/** What a request to delete has in front of the seq. */
const DELETE = '"op":"delete","seq":'

test(`good clients notice nothing of bad ones that send ${FRAMES} frames`, async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  const file = testFolder(t)('log')
  const owner = await startOwner(t, file)
  const good = [await libraryClient(file), await libraryClient(file), plainClient(file)]
  const random = randomFrom(SEED)
  const counts = { frames: 0, connections: 0, refused: 0, codes: new Set(), deleted: new Set() }
  const memory = []
  let measured = 0
  let isOver = false
  const appending = good.map((client, i) => appendUntil(client, i, () => isOver))
  await Promise.all(Array.from({ length: CONNECTIONS }, async () => {
    while (counts.frames < FRAMES) {
      if (counts.frames >= measured * FRAMES / 10) {
        measured++
        memory.push((await owner.stats()).rss)
      }
      await beBad(file, random, counts)
    }
  }))
  isOver = true
  await Promise.all(appending)
  const { stats, rss } = await owner.stats()
  memory.push(rss)
  t.comment(`${counts.connections} connections, ${stats.refused} refused; RSS of the owner in MiB: ${memory.map(bytes => Math.round(bytes / MIB)).join(' ')}`)
  t.ok(stats.refused >= counts.refused && stats.refused <= counts.connections, `${counts.refused} clients were told why, of ${stats.refused} that were refused`)
  t.ok(counts.refused > counts.connections / 10)
  t.deepEqual([...counts.codes], ['flumelog:protocol'], 'for what they sent, not for an error of the owner')
  t.ok(memory.at(-1) < 400 * MIB, 'its memory is bounded')
  const found = await verify(pathFile(file, { readOnly: true, lock: false }))
  t.equal(found.corruptBlocks, 0, 'the open log is valid')
  for (const { stored } of good) t.ok(stats.clients.some(({ appended }) => appended.records === stored.size), 'a good client still has its first connection')
  t.deepEqual(await compare(file, good, counts.deleted), [], 'what they appended is in the log, once, in order')
  for (const { close } of good) await close()
  await owner.close()
  t.ok(isClosed(file))
  t.equal((await verify(pathFile(file, { readOnly: true, lock: false }))).corruptBlocks, 0, 'the closed log is valid')
})

async function startOwner (t, file) {
  const program = start(t, 'shared-owner.js', { file, options: { blockSize: BLOCK_SIZE, cacheSize: MIB } }, { nodeOptions: ['--max-old-space-size=100'] })
  let asked = 0
  await program.message(({ what }) => what === 'opened')
  return {
    stats () {
      const number = ++asked
      program.send({ stats: number })
      return program.message(({ what, asked }) => what === 'stats' && asked === number)
    },
    async close () {
      program.send({ close: true })
      await program.message(({ what }) => what === 'closed')
    }
  }
}

async function libraryClient (file) {
  const log = promises(FlumeLog(file, { shared: true }))
  await log.onReady()
  return { stored: new Map(), close: log.close, append: async (records) => Promise.all(records.map(record => log.append(record))) }
}

function plainClient (file) {
  const client = new PlainClient(file)
  return { stored: new Map(), close: () => client.close(), append: (records) => client.append(records) }
}

/** A few records at a time. */
async function appendUntil ({ stored, append }, index, isOver) {
  let number = index * RANGE
  while (!isOver()) {
    const numbers = Array.from({ length: 5 }, () => ++number)
    const seqs = await append(numbers.map(number => numbered(number, number % 200)))
    seqs.forEach((seq, i) => stored.set(seq, numbers[i]))
    // the bad ones have their turns
    for (let i = 0; i < 5; i++) await event(setImmediate)
  }
}

/** One connection. */
async function beBad (file, random, counts) {
  const frames = badConversation(random, 2 + random.below(50))
  const client = new RawClient(file)
  counts.frames += frames.length
  counts.connections++
  if (random() < 0.05) client.socket.pause()
  const bytes = Buffer.concat(frames)
  noteDeletions(bytes, counts.deleted)
  for (let at = 0; at < bytes.length && !client.isClosed;) {
    const size = random() < 0.5 ? bytes.length : 1 + random.below(2000)
    client.send(bytes.subarray(at, at + size))
    at += size
    if (random() < 0.3) await event(setImmediate)
  }
  if (client.socket.isPaused() || random() < 0.1) client.socket.destroy()
  else client.socket.end()
  await client.closed
  counts.refused += client.count('REFUSED')
  for (const { name, body } of client.frames) if (name === 'REFUSED') counts.codes.add(JSON.parse(body.toString()).error.code)
}

/** A request that a change has made may be to delete a good client's record. */
function noteDeletions (bytes, deleted) {
  const text = bytes.toString('latin1')
  for (let at = text.indexOf(DELETE); at !== -1; at = text.indexOf(DELETE, at + 1)) deleted.add(Number.parseFloat(text.slice(at + DELETE.length, at + DELETE.length + 25)))
}

/** @returns {Promise<string[]>} what is wrong */
async function compare (file, good, deleted) {
  const problems = []
  const next = good.map(({ stored }) => stored.entries())
  const log = FlumeLog(file, { readOnly: true })
  await new Promise((resolve, reject) => log.scan({}, (buffer, from, to, seq) => {
    const data = buffer.subarray(from, to)
    if (!isIntact(data)) return
    const number = numberOf(data)
    const entries = next[Math.floor(number / RANGE)]
    let expected = entries.next().value
    while (expected !== undefined && expected[0] < seq && deleted.has(expected[0])) expected = entries.next().value
    if (expected === undefined || expected[0] !== seq || expected[1] !== number) problems.push(`record ${number} is at ${seq}, but ${expected} was acknowledged`)
  }, (err) => err ? reject(err) : resolve()))
  next.forEach((entries, i) => {
    for (const [seq, number] of entries) if (!deleted.has(seq)) problems.push(`record ${number} of client ${i}, at ${seq}, is missing`)
  })
  await promises(log).close()
  return problems.slice(0, 10)
}
