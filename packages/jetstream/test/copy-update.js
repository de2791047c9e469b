'use strict'

// What a crash has left behind the index of a copy, compared with its stream; without a server.

const test = require('tape')
const { open } = require('flumelog-random-access-file/promises')
const { CopiedLog } = require('flumelog-random-access-file/blocks')
const { CopyUpdate } = require('../lib/pull/copy-update')
const { CopyIndex, WINDOW } = require('../lib/pull/copy-index')
const { testFolder } = require('../../../test/helpers/folder')
const { recordsOf } = require('./helpers/pulling')

/** A stream of which the first messages were purged; message n is the text of number n. */
function purgedStream (texts, first) {
  const last = texts.length
  const messageAt = (seq) => ({ seq, data: Buffer.from(texts[seq - 1]) })
  return {
    label: 'stream',
    isPatient: false,
    stateWithDeleted: async () => ({ first_seq: first, last_seq: last, messages: last - first + 1, deleted: [] }),
    reader: {
      range: async (from, to) => {
        const records = []
        for (let seq = Math.max(from, first); seq <= Math.min(to, last); seq++) records.push(messageAt(seq))
        return { records, next: to + 1 }
      }
    }
  }
}

test('records of purged messages that equal later ones are no reason to refuse a copy', async (t) => {
  const texts = Array.from({ length: 5 * WINDOW }, (_, i) => `message ${i + 1}`)
  const first = 2 * WINDOW
  // the first records, all of purged messages, equal the messages that are left in front of many others
  for (let i = 0; i < 3; i++) texts[i] = `message ${first + i}`
  const log = await open(testFolder(t)('copy'))
  await log.append(texts)
  const { size: end } = log.flumelog.stats()
  const update = new CopyUpdate(purgedStream(texts, first), { filename: 'copy', end }, log.flumelog, {})
  const { records, parts } = await update.partsBetween(0, end)
  t.equal(records, texts.length)
  const found = await update.matchParts(parts, 0, texts.length)
  t.equal(found.reduce((sum, { matched }) => sum + matched.records, 0), texts.length - first + 1, 'each message has a record')
  await log.close()
})

test('a copy with more records than the stream ever had is refused', async (t) => {
  const texts = Array.from({ length: 3 * WINDOW }, (_, i) => `message ${i + 1}`)
  const log = await open(testFolder(t)('copy'))
  await log.append([...texts.slice(0, 100), 'another one', ...texts.slice(100, -1)])
  const { size: end } = log.flumelog.stats()
  const update = new CopyUpdate(purgedStream(texts, 1), { filename: 'copy', end }, log.flumelog, {})
  const { parts } = await update.partsBetween(0, end)
  t.equal(await update.matchParts(parts, 0, texts.length).then(() => null, ({ code }) => code), 'flumelog:invalid')
  await log.close()
})

/**
 * A copy of messages that are numbered, which has an index of the first ones.
 * @param {import('tape').Test} t
 * @param {number} count
 * @param {number} indexed
 */
async function indexedCopy (t, count, indexed) {
  const texts = Array.from({ length: count }, (_, i) => `message ${i + 1}`.repeat(20))
  const opened = await open(testFolder(t)('copy'))
  const copy = opened.flumelog
  const log = new CopiedLog(copy)
  const index = new CopyIndex(/** @type {string} */ (log.path), () => log.status())
  index.create({ stream: 'stream', created: '', id: log.id, envelope: false }, 0)
  for (let seq = 0; seq < count; seq += WINDOW) {
    const batch = texts.slice(seq, seq + WINDOW)
    await opened.append(batch)
    if (seq < indexed) index.add(seq + batch.length, log.end, batch.length)
  }
  copy.onCompact(() => index.move(/** @type {any} */ (log.ownMap)))
  return { texts, copy, log, index, compact: () => opened.compact() }
}

test('records of purged messages are deleted in a copy that is compacted while it is trimmed', async (t) => {
  const { texts, copy, log, index, compact } = await indexedCopy(t, 3 * WINDOW, 3 * WINDOW)
  const trim = (/** @type {any} */ range, /** @type {any} */ cb) => copy.trim(range, (err) => { compact().then(() => cb(err), cb) })
  const update = new CopyUpdate(/** @type {any} */ ({}), log, Object.create(copy, { trim: { value: trim } }), index)
  await update.trim(/** @type {any} */ ({ first_seq: WINDOW + 1 }))
  t.deepEqual((await recordsOf(copy)).length, 2 * WINDOW)
  t.equal((await recordsOf(copy))[0], texts[WINDOW])
  copy.close()
})

test('the index of a copy that is compacted while its end is compared has all of it', async (t) => {
  for (const call of ['stateWithDeleted', 'range']) {
    const { texts, copy, log, index, compact } = await indexedCopy(t, 3 * WINDOW, WINDOW)
    const source = /** @type {any} */ (purgedStream(texts, 1))
    const object = call === 'range' ? source.reader : source
    const original = object[call]
    let isCompacted = false
    object[call] = async (/** @type {any[]} */ ...args) => {
      if (!isCompacted) await compact()
      isCompacted = true
      return original(...args)
    }
    const update = new CopyUpdate(source, log, copy, index)
    await update.compareTail(/** @type {any} */ ({ last_seq: texts.length }), false)
    t.deepEqual({ records: index.windows.map(({ records }) => records), seq: index.end.seq, offset: index.end.offset }, { records: [WINDOW, WINDOW, WINDOW], seq: 3 * WINDOW, offset: log.end }, call)
    copy.close()
  }
})
