'use strict'

// Deletion of records in a log with large ones. The last chunk goes first: without it the
// others are no record, whatever moment the machine stops at. Of a range, the blocks go in their order:
// what is left of a record then is deleted, too, since a part of it is.

const chunk = require('../format/chunk')
const errors = require('../errors')
const { callBack, promised } = require('../callbacks')
const { BackwardCursor, RECORD, WAITING, FAILED } = require('../read/cursor')

/**
 * @typedef {(err?: Error | null) => void} Done
 * @typedef {Pick<import('../opening').Opened, 'blocks' | 'writer'>} Opened
 *
 * @typedef {object} Deletion
 * @property {number | null} seq null: a compaction has left the record out
 * @property {number} first of its chunks, as far as they are found; `seq` if it is not a large record
 * @property {number} end offset: the other chunks are before it
 */

class LargeDeletion {
  /** @param {Opened} opened */
  constructor (opened) {
    this.opened = opened
    /** Of single records, in progress. @type {Set<Deletion>} */
    this.deletions = new Set()
    /** Deletions that have not called back. @type {Set<Promise<void>>} */
    this.pending = new Set()
  }

  /** Another one from the moment on at which this process becomes the owner of a shared log. */
  get writer () {
    return /** @type {NonNullable<Opened['writer']>} */ (this.opened.writer)
  }

  /**
   * @param {Promise<void>} deleted
   * @param {Done} cb called when it is settled
   */
  answer (deleted, cb) {
    this.pending.add(deleted)
    callBack(deleted.finally(() => this.pending.delete(deleted)), cb)
  }

  /**
   * @param {number} seq
   * @param {Done} cb flumelog:not-found for a part of a large record
   */
  delete (seq, cb) {
    this.answer(this.deleteRecord(seq), cb)
  }

  /** @param {number} seq */
  async deleteRecord (seq) {
    /** @type {Deletion} */
    const deletion = { seq, first: seq, end: seq }
    this.deletions.add(deletion)
    try {
      await this.findParts(deletion)
      await promised(cb => deletion.seq === null ? cb() : this.writer.delete(deletion.seq, cb))
      await promised(cb => deletion.first < deletion.end ? this.writer.deleteRange(deletion.first, deletion.end - 1, cb) : cb())
    } finally {
      this.deletions.delete(deletion)
    }
  }

  /**
   * The log is another file now.
   * @param {import('../space/offset-map').OffsetMap} map
   */
  move (map) {
    for (const deletion of this.deletions) {
      deletion.seq = deletion.seq === null ? null : map.at(deletion.seq)
      deletion.end = map.down(deletion.end - 1) + 1
      deletion.first = map.up(deletion.first)
    }
  }

  /**
   * Deletes all records in a range. A large record is where its last chunk is: parts at the end of the range whose last chunk is
   * after it stay; those before the range whose last chunk is in it are no record any more.
   * @param {number} min the least seq
   * @param {number} max the greatest seq; in the log
   * @param {Done} cb
   */
  deleteRange (min, max, cb) {
    this.answer(this.deleteAll(min, max), cb)
  }

  /**
   * @param {number} min
   * @param {number} max
   */
  async deleteAll (min, max) {
    const { blocks } = this.opened
    await this.backward({ min, max, fromStart: true }, (cursor, found) => {
      if (found === RECORD && chunk.kindAt(cursor.buffer, cursor.start, cursor.end) === chunk.PART) return undefined
      // a block that cannot be read is an error of the deletion; the parts behind it stay. These bounds have moved, if the log is another file now
      const last = found === RECORD ? cursor.seq : found === FAILED ? Math.min(cursor.max, cursor.failedRange().end - 1) : -1
      // what was trimmed must not come back after a crash
      const end = Math.max(last, blocks.start - 1)
      return cursor.min <= end ? promised(cb => this.writer.deleteRange(cursor.min, end, cb)) : Promise.resolve()
    })
  }

  /** @param {Deletion} deletion gets its first chunk */
  async findParts (deletion) {
    const { blocks } = this.opened
    const { start: logStart } = blocks
    /** How many parts are before those that were found; of a record whose last chunk was deleted, that is not known. */
    let left = Infinity
    const failure = await this.backward({ min: -Infinity, max: Number(deletion.seq), fromStart: false }, (cursor, found) => {
      const { seq } = deletion
      if (seq === null) return null
      // where nothing, or something else, starts, the deletion of `seq` says so
      if (found !== RECORD) return found === FAILED ? cursor.error : null
      const { buffer, start } = cursor
      const kind = chunk.kindAt(buffer, start, cursor.end)
      if (cursor.seq === seq && kind === chunk.PART) return errors.startsPart(blocks.file.filename, seq)
      // an earlier deletion may have got no further
      if (cursor.seq === seq && cursor.isDeleted()) return undefined
      if (kind !== (cursor.seq === seq ? chunk.LAST : chunk.PART) || chunk.indexAt(buffer, start) >= left) return null
      left = chunk.indexAt(buffer, start)
      deletion.first = cursor.seq
      return left === 0 ? null : undefined
    })
    const { seq } = deletion
    // the deletion of `seq` says so when the trim is recorded
    const isTrimmed = seq !== null && blocks.start !== logStart && seq < blocks.start
    if (failure !== null && !isTrimmed) throw failure
  }

  /**
   * Reads records from the last one in a range on.
   * @template T
   * @param {{ min: number, max: number, fromStart: boolean }} range
   * @param {(cursor: import('../read/cursor').Cursor, found: number) => T | undefined} look called with what the cursor has found, before a
   *   compaction can move it. Undefined: go on
   * @returns {Promise<Awaited<T>>} what `look` returned
   */
  async backward (range, look) {
    const { blocks } = this.opened
    let wake = () => {}
    const cursor = new BackwardCursor(blocks, { ...range, reverse: true, useCache: true }, () => wake())
    blocks.cursors.add(cursor)
    try {
      for (;;) {
        const found = cursor.next()
        const result = found === WAITING ? await new Promise(resolve => { wake = () => resolve(undefined) }) : look(cursor, found)
        if (result !== undefined) return result
      }
    } finally {
      cursor.stop()
    }
  }
}

module.exports = { LargeDeletion }
