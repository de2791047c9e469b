'use strict'

// What a crash has left behind the index of a copy, compared with its stream; without a server.

const test = require('tape')
const { open } = require('flumelog-random-access-file/promises')
const { CopyUpdate } = require('../lib/copy-update')
const { WINDOW } = require('../lib/copy-index')
const { testFolder } = require('../../../test/helpers/folder')

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
