'use strict'

// A pull-stream source over the records. It answers at once while the block is in memory,
// so a sink that loops reads a whole block without returning to the event loop.

const errors = require('../errors')
const { RECORD, WAITING, AT_END, FAILED } = require('./cursor')
const { openRecordCursor } = require('./record-cursor')
const { copyStreamOptions, greatestBound, refuseOldBounds, streamRangeOf } = require('./options')
const { CHECK_INTERVAL, MAX_DEPTH } = require('./turn-budget')

/**
 * @typedef {import('./cursor').Cursor} Cursor
 * @typedef {import('./options').StreamOptions} StreamOptions
 * @typedef {import('./source').Answer} Answer
 * @typedef {import('./source').End} End
 */

/** @typedef {(data: Buffer | string, seq: number) => any} Decode throws flumelog:corrupt */

/**
 * @typedef {object} ReadContext what readers need of the log that they read
 * @property {import('./block-cache').BlockCache} blocks another one before the log is open
 * @property {Decode | null} decode null: values are given as they are stored
 * @property {boolean} takesText whether `decode` is given text, and not a Buffer
 * @property {boolean} keepsNoText whether `decode` is known to keep nothing of its text
 * @property {string} filename
 * @property {() => number | null} end where the log ends, as far as is known; null if it is not open yet
 * @property {(cb: (err: Error | null) => void, seq?: number) => void} whenOpen calls back at once if the log is open, and readers see it as far as `seq`
 * @property {import('./open-streams').OpenStreams} streams
 * @property {object} [owner] the cursor with which the stream ends
 * @property {import('./turn-budget').TurnBudget} turn
 */

class Stream {
  /**
   * @param {ReadContext} context
   * @param {StreamOptions} given
   */
  constructor (context, given) {
    const options = copyStreamOptions(given)
    this.context = context
    this.turn = context.turn
    this.options = options
    this.values = options.values !== false
    /** Whether it gives objects of a seq and a value. */
    this.both = this.values && options.seqs !== false && !options.deleted
    this.deleted = !!options.deleted
    /** Whether these objects have a size, too. */
    this.sized = this.values && options.seqs !== false && this.deleted
    /** null: values are given as they are stored */
    this.decode = this.values ? context.decode : null
    this.takesText = context.takesText
    this.live = !!options.live || options.old === false
    /** The number of records that it may still give; 0 or less: no limit. */
    this.remaining = options.limit ?? 0
    /** @type {Cursor | null} */
    this.cursor = null
    /** With `old: false`, records before this offset are old. */
    this.oldEnd = 0
    /** What is given live starts here, or before. */
    this.liveFrom = 0
    /** The greatest seq that it gives. */
    this.max = Infinity
    /** The read to be answered later. @type {Answer | null} */
    this.waiting = null
    /** @type {End} */
    this.ended = null
    this.depth = 0
    /** Reads until the next one that checks the time; the first one does. */
    this.untilCheck = 1
    this.checkInterval = CHECK_INTERVAL
    this.resume = this.resume.bind(this)
    /** What the reader gets. Not made by `bind`: V8 would not inline it into the reader's loop. @type {import('./source').Source<any>} */
    this.source = (abort, cb) => this.read(abort, cb)
    if (options.old === false) this.noteOldEnd()
  }

  /** Records that are acknowledged from now on, or once the log is open, are not old. */
  noteOldEnd () {
    const { context } = this
    const end = context.end()
    context.streams.add(this)
    if (end !== null) this.oldEnd = end
    else context.whenOpen((err) => { if (!err) this.oldEnd = context.blocks.end })
  }

  /**
   * @param {End} abort
   * @param {Answer} cb
   * @returns {void}
   */
  read (abort, cb) {
    if (abort) return this.abort(abort, cb)
    if (this.ended !== null) return cb(this.ended)
    if (this.depth > MAX_DEPTH || --this.untilCheck === 0) return this.checkAndRead(cb)
    this.depth++
    this.answer(/** @type {Cursor} */ (this.cursor), cb)
    this.depth--
  }

  /**
   * The first read, and each that has to check whether it may be answered on this stack and in this turn.
   * @param {Answer} cb
   * @returns {void}
   */
  checkAndRead (cb) {
    const isFirst = this.cursor === null
    if (this.untilCheck === 0) this.untilCheck = this.checkInterval
    if (this.depth > MAX_DEPTH || (isFirst ? this.turn.isSpent() : this.turn.checkTime())) return this.postpone(cb)
    if (isFirst) return this.open(cb)
    this.depth++
    this.answer(/** @type {Cursor} */ (this.cursor), cb)
    this.depth--
  }

  /**
   * Answers a read on a new stack, or in another turn.
   * @param {Answer} cb
   */
  postpone (cb) {
    this.waiting = cb
    this.turn.postpone(this.resume)
  }

  /** @param {Answer} cb of the first read */
  open (cb) {
    this.waiting = cb
    this.context.streams.add(this)
    this.context.whenOpen((err) => {
      if (this.ended !== null) return
      if (err) return this.finish(err)
      try {
        this.cursor = this.openCursor()
      } catch (err) {
        return this.finish(errors.thrown('an option', err))
      }
      this.resume()
    }, greatestBound(this.options))
  }

  /**
   * @returns {Cursor}
   * @throws flumelog:invalid, flumelog:trimmed
   */
  openCursor () {
    const { blocks } = this.context
    const range = streamRangeOf(this.options, this.oldEnd)
    refuseOldBounds(this.options, blocks)
    // it has a lower bound, also if that is the start of the log
    if (this.context.owner !== undefined) range.mayJump = range.fromStart
    // seqs and text share no memory with a block
    range.reuseMemory = !this.values || this.takesText
    range.textByBlock = this.context.keepsNoText
    this.liveFrom = Math.max(range.min, blocks.end)
    this.max = range.max
    range.needsData = this.values
    return openRecordCursor(blocks, range, this.resume)
  }

  /** Continues a read that had to wait. */
  resume () {
    const cb = this.waiting
    if (cb === null) return
    this.waiting = null
    this.context.streams.stopWaiting(this)
    // this is called on a new stack, and a reader that threw has left the depth too high
    this.depth = 0
    if (this.cursor === null) this.open(cb)
    else this.answer(this.cursor, cb)
  }

  /**
   * Answers a read, if there is a record in memory. The hot path is short, so that V8 inlines it into the reader's
   * loop: what happens once per block is elsewhere.
   * @param {Cursor} cursor
   * @param {Answer} cb
   * @returns {void}
   */
  answer (cursor, cb) {
    for (;;) {
      const found = cursor.next()
      if (found !== RECORD) {
        if (!this.moveOn(cursor, found, cb)) return
        cursor = /** @type {Cursor} */ (this.cursor)
      } else if (!cursor.isDeleted()) {
        if (this.decode === null) return this.give(this.itemOf(cursor), cb)
        if (this.giveDecoded(cursor, this.decode, cb)) return
      } else if (this.deleted) return this.give(this.deletedItemOf(cursor), cb)
      // something was skipped
      if (this.turn.isSpent()) return this.postpone(cb)
    }
  }

  /**
   * @param {Cursor} cursor
   * @returns {any} what the stream gives for the current record, which needs no decoding
   */
  itemOf (cursor) {
    if (this.both) return { seq: cursor.seq, value: cursor.data() }
    if (this.sized) return { seq: cursor.seq, value: cursor.data(), size: cursor.size }
    return this.values ? cursor.data() : cursor.seq
  }

  /**
   * @param {Cursor} cursor at a deleted record
   * @returns {any}
   */
  deletedItemOf (cursor) {
    if (this.sized) return { seq: cursor.seq, value: null, size: cursor.size }
    return this.values ? null : cursor.seq
  }

  /**
   * @param {Cursor} cursor
   * @param {Decode} decode
   * @returns {any} what the stream gives for the current record
   * @throws flumelog:corrupt
   */
  decodedItemOf (cursor, decode) {
    const { seq } = cursor
    const value = decode(this.takesText ? cursor.text() : cursor.data(), seq)
    if (this.sized) return { seq, value, size: cursor.size }
    return this.both ? { seq, value } : value
  }

  /**
   * Not part of `answer`, since a try block in there makes all reads slower.
   * @param {Cursor} cursor
   * @param {Decode} decode
   * @param {Answer} cb
   * @returns {boolean} whether the read was answered; false: look for the next record
   */
  giveDecoded (cursor, decode, cb) {
    let item
    try {
      item = this.decodedItemOf(cursor, decode)
    } catch (err) {
      return !this.skipUndecodable(cursor, /** @type {Error} */ (err), cb)
    }
    this.give(item, cb)
    return true
  }

  /**
   * @param {Cursor} cursor at a record that the codec cannot decode
   * @param {Error} err
   * @param {Answer} cb
   * @returns {boolean} whether to look for the next record; false: the read was answered
   */
  skipUndecodable (cursor, err, cb) {
    if (this.options.skipCorrupt) return this.reportSkipped({ start: cursor.seq, end: cursor.seq + cursor.size, error: err }, cb)
    this.waiting = cb
    this.finish(err)
    return false
  }

  /**
   * @param {any} item
   * @param {Answer} cb
   */
  give (item, cb) {
    if (this.remaining > 0 && --this.remaining === 0) this.end(true)
    cb(null, item)
  }

  /**
   * The cursor has found no record.
   * @param {Cursor} cursor
   * @param {number} found what it found instead
   * @param {Answer} cb
   * @returns {boolean} whether to look for a record again; false: the read waits, or was answered
   */
  moveOn (cursor, found, cb) {
    if (found === FAILED && this.options.skipCorrupt && /** @type {NodeJS.ErrnoException} */ (cursor.error).code === 'flumelog:corrupt') {
      const skipped = { ...cursor.failedRange(), error: /** @type {Error} */ (cursor.error) }
      cursor.skipBlock()
      return this.reportSkipped(skipped, cb)
    }
    this.waiting = cb
    if (found === WAITING) return false
    if (found === FAILED || !this.live || (!cursor.reverse && found !== AT_END)) {
      this.finish(found === FAILED ? cursor.error : true)
      return false
    }
    if (cursor.reverse) {
      this.waiting = null
      this.cursor = this.openForward(cursor)
      return true
    }
    this.context.streams.wait(this)
    return false
  }

  /**
   * A live stream has given the old records, last one first.
   * @param {Cursor} cursor over these
   * @returns {Cursor} over the new ones, as they are appended
   */
  openForward (cursor) {
    cursor.stop()
    const range = { min: this.liveFrom, max: this.max, reverse: false, useCache: this.options.cache !== false, fromStart: cursor.fromStart, needsData: this.values }
    return openRecordCursor(this.context.blocks, range, this.resume)
  }

  /**
   * @param {import('./options').Skipped} skipped
   * @param {Answer} cb
   * @returns {boolean} whether to look for the next record; false: the read was answered
   */
  reportSkipped (skipped, cb) {
    const { onSkip } = this.options
    this.waiting = cb
    try {
      if (onSkip && this.ended === null) onSkip(skipped)
    } catch (thrown) {
      this.finish(errors.thrown('onSkip', thrown))
    }
    if (this.ended === null) {
      this.waiting = null
      return true
    }
    // onSkip, or the codec before it, has aborted the stream
    this.finish(this.ended)
    return false
  }

  /** @param {End} end */
  end (end) {
    if (this.ended === null) this.ended = end
    if (this.cursor !== null) this.cursor.stop()
    this.context.streams.delete(this)
  }

  /**
   * Ends, and answers the read that waits.
   * @param {End} end
   */
  finish (end) {
    this.end(end)
    const cb = this.waiting
    this.waiting = null
    if (cb !== null) cb(end)
  }

  /**
   * @param {End} abort
   * @param {Answer} cb
   */
  abort (abort, cb) {
    this.finish(abort)
    if (cb) cb(abort)
  }

  /**
   * The log is another file now.
   * @param {import('../space/offset-map').OffsetMap} map
   */
  move (map) {
    // what comes from there on was trimmed: that is an error here, too
    if (this.oldEnd >= map.start) this.oldEnd = map.up(this.oldEnd)
    if (this.liveFrom >= map.start) this.liveFrom = map.up(this.liveFrom)
    if (this.max !== Infinity) this.max = map.down(this.max)
    this.cursor?.move(map)
  }

  /** The log is closing: a reader that has been given all of it, whether it waits for more or pauses, gets a normal end. */
  close () {
    this.finish(this.context.streams.waiting.has(this) || this.hasGivenAll() ? true : errors.closed(this.context.filename))
  }

  /** @returns {boolean} whether no record is left, as far as is known without reading the file; called only at the end */
  hasGivenAll () {
    while (this.cursor !== null && this.cursor.isExhausted()) {
      if (!this.live || !this.cursor.reverse) return true
      this.cursor = this.openForward(this.cursor)
    }
    return false
  }
}

module.exports = { Stream }
