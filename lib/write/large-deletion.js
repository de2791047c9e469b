'use strict'

// Deletion of records in a log with large ones. The last chunk goes first: without it the
// others are no record, whatever moment the machine stops at. Of a range, the blocks go in their order:
// what is left of a record then is deleted, too, since a part of it is.

const chunk = require('../format/chunk')
const errors = require('../errors')
const { callAll } = require('../callbacks')
const { openCursor, RECORD, WAITING, FAILED } = require('../read/cursor')

/** Parts that are deleted at a time: their requests take memory. */
const MAX_PARTS = 1000

/**
 * @typedef {(err?: Error | null) => void} Done
 * @typedef {Pick<import('../opening').Opened, 'blocks' | 'writer'>} Opened
 *
 * @typedef {object} Deletion
 * @property {number | null} seq null: a compaction has left the record out
 * @property {number[]} parts seqs of the other chunks that are not deleted, none if it is not a large record
 */

class LargeDeletion {
  /** @param {Opened} opened */
  constructor (opened) {
    this.opened = opened
    /** Of single records, in progress. @type {Set<Deletion>} */
    this.deletions = new Set()
    /** Deletions that have not called back. */
    this.pending = 0
    /** Called when there are none. @type {Array<() => void>} */
    this.waiting = []
  }

  /** Another one from the moment on at which this process becomes the owner of a shared log. */
  get writer () {
    return /** @type {NonNullable<Opened['writer']>} */ (this.opened.writer)
  }

  /** @param {() => void} cb called when no deletion is pending; at once, if none is */
  whenDone (cb) {
    if (this.pending === 0) cb()
    else this.waiting.push(cb)
  }

  /**
   * @param {number} seq
   * @param {Done} cb flumelog:not-found for a part of a large record
   */
  delete (seq, cb) {
    /** @type {Deletion} */
    const deletion = { seq, parts: [] }
    this.deletions.add(deletion)
    const done = this.start((err) => {
      this.deletions.delete(deletion)
      cb(err)
    })
    this.findParts(deletion, (err) => {
      if (err || deletion.seq === null) return process.nextTick(done, err)
      this.writer.delete(deletion.seq, (err) => err ? done(err) : this.deleteParts(deletion, done))
    })
  }

  /**
   * The log is another file now.
   * @param {import('../space/offset-map').OffsetMap} map
   */
  move (map) {
    for (const deletion of this.deletions) {
      deletion.seq = deletion.seq === null ? null : map.at(deletion.seq)
      deletion.parts = deletion.parts.map(seq => map.at(seq)).filter(seq => seq !== null)
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
    const done = this.start(cb)
    const { blocks } = this.opened
    const find = () => {
      for (let found = cursor.next(); found !== WAITING; found = cursor.next()) {
        const isPart = found === RECORD && chunk.kindAt(cursor.buffer, cursor.start, cursor.end) === chunk.PART
        if (isPart) continue
        blocks.cursors.delete(cursor)
        cursor.stop()
        // a block that cannot be read is an error of the deletion; these bounds have moved, if the log is another file now
        const last = found === RECORD ? cursor.seq : found === FAILED ? cursor.max : -1
        if (last >= cursor.min) this.writer.deleteRange(cursor.min, last, done)
        // what was trimmed must not come back after a crash
        else if (cursor.min < blocks.start) this.writer.deleteRange(cursor.min, blocks.start - 1, done)
        else process.nextTick(done, null)
        return
      }
    }
    const cursor = openCursor(blocks, { min, max, reverse: true, useCache: true, fromStart: true }, find)
    blocks.cursors.add(cursor)
    find()
  }

  /**
   * @param {Done} cb
   * @returns {Done} to be called when the deletion is over
   */
  start (cb) {
    this.pending++
    return (err) => {
      if (--this.pending === 0) process.nextTick(callAll, this.waiting.splice(0), undefined)
      cb(err)
    }
  }

  /**
   * @param {Deletion} deletion gets its parts
   * @param {(err: Error | null) => void} cb
   */
  findParts (deletion, cb) {
    const { blocks } = this.opened
    const { start: logStart } = blocks
    /** How many parts there are; -1: the record at `seq` comes first. */
    let count = -1
    const end = (/** @type {Error | null} */ err) => {
      cursor.stop()
      blocks.cursors.delete(cursor)
      const { seq } = deletion
      // the deletion of `seq` says so when the trim is recorded
      const isTrimmed = seq !== null && blocks.start !== logStart && seq < blocks.start
      cb(isTrimmed ? null : err)
    }
    const find = () => {
      // it changes only while blocks are read
      const { seq, parts } = deletion
      if (seq === null) return end(null)
      for (let found = cursor.next(); found !== WAITING; found = cursor.next()) {
        // where nothing, or something else, starts, the deletion of `seq` says so
        if (found !== RECORD) return end(found === FAILED ? cursor.error : null)
        const { buffer, start } = cursor
        const kind = chunk.kindAt(buffer, start, cursor.end)
        if (count === -1) {
          if (cursor.seq === seq && kind === chunk.PART) return end(errors.startsPart(blocks.file.filename, seq))
          if (cursor.seq !== seq || kind !== chunk.LAST) return end(null)
          count = chunk.indexAt(buffer, start)
        } else {
          if (kind !== chunk.PART || chunk.indexAt(buffer, start) !== count - parts.length - 1) return end(null)
          parts.push(cursor.seq)
        }
        if (parts.length === count) return end(null)
      }
    }
    const cursor = openCursor(blocks, { min: -Infinity, max: Number(deletion.seq), reverse: true, useCache: true, fromStart: false }, find)
    blocks.cursors.add(cursor)
    find()
  }

  /**
   * @param {Deletion} deletion whose parts are emptied
   * @param {Done} cb
   * @returns {void}
   */
  deleteParts (deletion, cb) {
    const { start } = this.opened.blocks
    // what was trimmed meanwhile is gone
    const some = deletion.parts.splice(-MAX_PARTS).filter(seq => seq >= start)
    let left = some.length
    if (left === 0) return deletion.parts.length === 0 ? cb(null) : this.deleteParts(deletion, cb)
    /** @type {Error | null} */
    let first = null
    const ondeleted = (/** @type {import('../errors').CallbackError | null | undefined} */ err) => {
      if (err?.code !== 'flumelog:trimmed') first ??= err ?? null
      if (--left > 0) return
      if (first !== null) cb(first)
      else this.deleteParts(deletion, cb)
    }
    for (const seq of some) this.writer.delete(seq, ondeleted)
  }
}

module.exports = { LargeDeletion }
