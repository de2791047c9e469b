'use strict'

// Deletion of records in a log with large ones. The last chunk goes first: without it the
// others are no record, whatever moment the machine stops at.

const chunk = require('../format/chunk')
const errors = require('../errors')
const { callAll } = require('../callbacks')
const { openCursor, RECORD, WAITING, FAILED } = require('../read/cursor')

/** Parts that are deleted at a time: their requests take memory. */
const MAX_PARTS = 1000

/**
 * @typedef {(err?: Error | null) => void} Done
 * @typedef {Pick<import('../opening').Opened, 'blocks' | 'writer'>} Opened
 */

class LargeDeletion {
  /** @param {Opened} opened */
  constructor (opened) {
    this.opened = opened
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
    const done = this.started(cb)
    this.findParts(seq, (err, parts) => {
      if (err) return process.nextTick(done, err)
      this.writer.delete(seq, (err) => err ? done(err) : this.deleteParts(parts, done))
    })
  }

  /**
   * Deletes the records whose seqs are in a range: all chunks of these, and none of others.
   * @param {number} min
   * @param {number} max
   * @param {Done} cb
   */
  deleteRange (min, max, cb) {
    const done = this.started(cb)
    this.findStart(max + 1, (err, next) => {
      if (err) return process.nextTick(done, err)
      this.findStart(min, (err, first) => {
        if (err) return process.nextTick(done, err)
        const to = Math.min(max, next - 1)
        if (Math.min(min, first) > to) process.nextTick(done, null)
        else this.writer.deleteRange(Math.min(min, first), to, done)
      })
    })
  }

  /**
   * @param {number} from
   * @param {(err: Error | null, start: number) => void} cb given where the first chunk is of the first record at or after `from`,
   *   if that is a large one; Infinity if it is not, or there is none
   */
  findStart (from, cb) {
    const { blocks } = this.opened
    if (from >= blocks.end || from < blocks.start) return cb(null, Infinity)
    const find = () => {
      let found = cursor.next()
      while (found === RECORD && chunk.kindAt(cursor.buffer, cursor.start, cursor.end) === chunk.PART) found = cursor.next()
      if (found === WAITING) return
      cursor.stop()
      if (found === FAILED) return cb(cursor.error, Infinity)
      if (found !== RECORD || chunk.kindAt(cursor.buffer, cursor.start, cursor.end) !== chunk.LAST) return cb(null, Infinity)
      this.findParts(cursor.seq, (err, parts) => cb(err, parts[parts.length - 1] ?? Infinity))
    }
    const cursor = openCursor(blocks, { min: from, max: Infinity, reverse: false, useCache: true, fromStart: false }, find)
    find()
  }

  /**
   * @param {Done} cb
   * @returns {Done} to be called when the deletion is over
   */
  started (cb) {
    this.pending++
    return (err) => {
      if (--this.pending === 0) process.nextTick(callAll, this.waiting.splice(0), undefined)
      cb(err)
    }
  }

  /**
   * @param {number} seq
   * @param {(err: Error | null, parts: number[]) => void} cb given the seqs of the other chunks, none if it is not a large record
   */
  findParts (seq, cb) {
    const { blocks } = this.opened
    const { start: logStart } = blocks
    /** @type {number[]} */
    const parts = []
    /** How many parts there are; -1: the record at `seq` comes first. */
    let count = -1
    const end = (/** @type {Error | null} */ err) => {
      cursor.stop()
      const isGone = blocks.start !== logStart && seq < blocks.start
      cb(isGone ? errors.trimmed(blocks.file.filename, seq, blocks.start) : err, parts)
    }
    const find = () => {
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
    const cursor = openCursor(blocks, { min: -Infinity, max: seq, reverse: true, useCache: true, fromStart: false }, find)
    find()
  }

  /**
   * @param {number[]} parts is emptied
   * @param {Done} cb
   * @returns {void}
   */
  deleteParts (parts, cb) {
    const { start } = this.opened.blocks
    // what was trimmed meanwhile, or left behind by a compaction, is gone
    const some = parts.splice(-MAX_PARTS).filter(seq => seq >= start)
    let left = some.length
    if (left === 0) return parts.length === 0 ? cb(null) : this.deleteParts(parts, cb)
    /** @type {Error | null} */
    let first = null
    const ondeleted = (/** @type {Error | null | undefined} */ err) => {
      first ??= err ?? null
      if (--left > 0) return
      if (first !== null) cb(first)
      else this.deleteParts(parts, cb)
    }
    for (const seq of some) this.writer.delete(seq, ondeleted)
  }
}

module.exports = { LargeDeletion }
