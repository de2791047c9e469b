'use strict'

// The pull-stream sources of a log's records, with the options, order and ends that those of a log in a file have.

const { BatchStream, Stream, streamRangeOf } = require('flumelog-random-access-file/parts')
const errors = require('../errors')
const { StreamCursor } = require('./cursor')

/**
 * @typedef {import('flumelog-random-access-file/parts').ReadContext & { reader: import('./reader').Reader, lastSeq: () => number, tails: import('./tails').Tails,
 *   delivered: (first: number, last: number) => Promise<import('./record-consumer').Received[] | null>, whenLogOpen: (cb: (err: Error | null) => void) => void }} ReadContext
 * @typedef {import('flumelog-random-access-file/parts').Cursor} Cursor
 */

/**
 * @template {new (context: ReadContext, options: import('flumelog-random-access-file').StreamOptions) => Stream} Kind
 * @param {Kind} Kind
 * @returns {Kind} one that reads from the server
 */
function readingFromServer (Kind) {
  return /** @type {any} */ (class extends (/** @type {any} */ (Kind)) {
    /** What is appended once the log is open is not old: this does not wait for what others have appended before. */
    noteOldEnd () {
      const { context } = this
      context.streams.add(this)
      context.whenLogOpen((/** @type {Error | null} */ err) => { if (!err) this.oldEnd = context.lastSeq() + 1 })
    }

    openCursor () {
      const range = streamRangeOf(this.options, this.oldEnd)
      // the server tells nothing of deleted records
      if (this.options.deleted) throw errors.notOfStream(this.context.filename, 'the option deleted')
      this.liveFrom = Math.max(range.min, this.context.lastSeq() + 1)
      this.max = range.max
      return this.cursorOver(range)
    }

    /** @param {Cursor} cursor */
    openForward (cursor) {
      cursor.stop()
      return this.cursorOver({ min: Number(this.liveFrom), max: Number(this.max), reverse: false })
    }

    /** @param {{ min: number, max: number, reverse: boolean }} range */
    cursorOver (range) {
      return new StreamCursor(this.context, range, this.live, this.resume)
    }
  })
}

module.exports = { ServerStream: readingFromServer(/** @type {any} */ (Stream)), ServerBatchStream: readingFromServer(/** @type {any} */ (BatchStream)) }
