'use strict'

// The reading side of a cursor: streams of its log that start after its position, if that is one of this log.

const errors = require('../errors')
const { callBack, promised } = require('../callbacks')
const { openSource } = require('../read/source')
const { cursorStreamOptions } = require('./cursor-options')
const { tieOf } = require('./cursor-tie')

/** @typedef {import('../types').Done} Done */

class CursorReader {
  /** @param {import('./named-cursor').NamedCursor} cursor */
  constructor (cursor) {
    this.cursor = cursor
    /** Whether the record at its position is known to be the one that was committed. */
    this.isChecked = false
  }

  /**
   * @param {typeof import('../read/stream').Stream} Kind or a subclass
   * @param {string} of for messages
   * @param {any} options
   * @returns {import('../read/source').Source<any>} of what comes after the position
   */
  source (Kind, of, options) {
    return openSource(() => {
      const stream = new Kind(Object.create(this.cursor.log.reading, {
        owner: { value: this },
        whenOpen: {
          value: (/** @type {Done} */ cb) => callBack(this.whenPositioned(), (/** @type {Error | null} */ err) => {
            if (!err) stream.options.gt = this.cursor.position.next - 1
            cb(err)
          })
        }
      }), cursorStreamOptions(of, options ?? {}))
      return stream.source
    })
  }

  /** Waits until it is open, what was committed before is stored, and the position is known to be one of this log. */
  async whenPositioned () {
    const { cursor } = this
    if (cursor.refusal !== null) throw cursor.refusal
    await new Promise(resolve => cursor.enqueue(null, {}, resolve))
    if (cursor.refusal !== null) throw cursor.refusal
    await this.catchUp()
    if (!this.isChecked) await this.checkPosition()
  }

  /** Waits until the record at the position is known, which another process may have appended and committed, in another generation of the log. */
  async catchUp () {
    const { log, cursors, position } = this.cursor
    // another process may have followed the compaction of this one before it has ended
    if (position.id !== cursors.id) await log.compacting.current?.ended.catch(() => {})
    await promised(cb => log.whenFresh(cb, this.isChecked ? -1 : position.next - 1))
  }

  /** @throws flumelog:invalid */
  async checkPosition () {
    const { file: { given }, position: { id, seq, tie }, name, log, cursors } = this.cursor
    const { blocks } = log.reading
    const outside = (/** @type {string} */ reason) => errors.cursorOutside(given, name, seq, reason)
    if (id !== cursors.id) throw outside('it is from before an earlier compaction')
    if (seq >= blocks.end) throw outside(seq === blocks.end ? 'the log ends there' : `the log ends at ${blocks.end}`)
    // what was trimmed is the stream's to tell
    if (seq >= blocks.start) {
      const found = await tieOf(blocks, seq).catch((err) => {
        if (err.code === 'flumelog:not-found') throw outside('no record starts there')
        // the stream gets to this block itself, and may skip it
        return { tie: null }
      })
      if (tie !== null && found.tie !== null && found.tie !== tie) throw outside('another record is there')
    }
    this.isChecked = true
  }

  /** Ends its streams. */
  close () {
    this.cursor.log.streams.close(this)
  }
}

module.exports = { CursorReader }
