'use strict'

// Deletes records: the server overwrites each with random bytes, on each of its replicas.

const { deletionRangeOf } = require('flumelog-random-access-file/parts')
const { problemOf } = require('../read/reader')

/** Requests at the same time. */
const AT_ONCE = 64
/** Codes of the server: the message could not be deleted, since it is gone, or for another reason; it is gone. */
const NOT_DELETED = new Set([10057, 10043])

/**
 * @param {import('../read/reader').Reader} reader
 * @param {any} what a seq, an array of them, or a range
 * @returns {Promise<void>} rejects with flumelog:not-found, with nothing deleted, if there never was such a record
 */
async function deleteRecords (reader, what) {
  const { last_seq: last } = await reader.refresh()
  if (isRange(what)) return deleteRange(reader, what, last)
  const seqs = [what].flat()
  for (const seq of seqs) {
    const problem = problemOf(reader, seq, last)
    if (problem !== null) throw problem
  }
  await deleteAll(reader, seqs)
}

/**
 * @param {import('../read/reader').Reader} reader
 * @param {import('flumelog-random-access-file/parts').DeletionRange} range
 * @param {number} last sequence
 */
async function deleteRange (reader, range, last) {
  const { min, max } = deletionRangeOf(range, last + 1)
  for (let from = Math.max(min, 1); from <= max;) {
    const to = Math.min(from + 1023, max)
    const { records, next } = await reader.range(from, to)
    await deleteAll(reader, records.map(({ seq }) => seq))
    from = next
  }
}

/**
 * @param {import('../read/reader').Reader} reader
 * @param {number[]} seqs
 * @param {boolean} [isErased] whether they are overwritten, which takes longer
 */
async function deleteAll (reader, seqs, isErased = true) {
  const { connection, connection: { manager }, stream } = reader
  for (let i = 0; i < seqs.length; i += AT_ONCE) {
    await Promise.all(seqs.slice(i, i + AT_ONCE).map(seq => connection.ask(() => deleteOne(seq))))
  }

  /** @param {number} seq */
  async function deleteOne (seq) {
    try {
      await manager.streams.deleteMessage(stream, seq, isErased)
    } catch (err) {
      // deleting what is deleted is no error
      if (!NOT_DELETED.has(/** @type {any} */ (err).code) || await manager.streams.getMessage(stream, { seq }) !== null) throw err
    }
    connection.deleted.add(seq)
  }
}

/** @param {unknown} what */
function isRange (what) {
  return Object.prototype.toString.call(what) === '[object Object]'
}

module.exports = { deleteRecords, deleteAll }
