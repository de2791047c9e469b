'use strict'

// A pull-stream source over the records. It answers at once whenever the block is
// at hand, so a sink that loops reads a block without a trip to the event loop.

const { FRAME_SIZE } = require('../format/layout')
const errors = require('../errors')
const { format } = require('../options')
const { openCursor, rangeOf, RECORD, WAITING, AT_END, PAST_BOUND, FAILED } = require('./cursor')

/** How deep a reader may call from within its own callback before it is given a new stack. */
const MAX_DEPTH = 64

/**
 * @typedef {true | Error | null} End
 */

/** @typedef {(end: End, item?: any) => void} Answer */

/**
 * A pull-stream source. Where `end` is not null, there is no item.
 * @template [I=any]
 * @typedef {(abort: End, cb: (end: End, item: I) => void) => void} Source
 */

/**
 * @template [T=Buffer]
 * @typedef {{ seq: number, value: T }} LogRecord a record, and the offset at which it starts
 */

/**
 * @typedef {object} Skipped a range that a stream with `skipCorrupt` left out
 * @property {number} start offset of its first byte
 * @property {number} end offset after its last byte
 * @property {Error} error why
 *
 * @typedef {object} StreamOnlyOptions
 * @property {boolean} [live] at the end of the log, wait for more; default false
 * @property {boolean} [old] false: only records appended from now on, and `live`; default true
 * @property {number} [limit] end after so many records; default 0, which means no limit
 * @property {boolean} [seqs] give each record's seq; default true
 * @property {boolean} [values] give each record's value; default true
 * @property {boolean} [skipCorrupt] leave out damaged blocks, and records that the codec cannot decode, instead of
 *   ending with an error; default false
 * @property {(range: Skipped) => void} [onSkip] told of each range that was left out
 *
 * @typedef {import('./cursor').Cursor} Cursor
 * @typedef {import('./cursor').RangeOptions & StreamOnlyOptions} StreamOptions
 */

/**
 * What a stream gives is said by its options.
 * @template T
 * @typedef {{
 *   (options?: StreamOptions & { seqs?: true, values?: true }): Source<LogRecord<T>>,
 *   (options: StreamOptions & { values: false }): Source<number>,
 *   (options: StreamOptions & { seqs: false, values?: true }): Source<T>,
 *   (options: StreamOptions): Source<any>
 * }} StreamFunction
 */

/** @typedef {(data: Buffer, seq: number) => any} Decode throws flumelog:corrupt */

/**
 * @typedef {object} Log what a stream needs of the log it reads
 * @property {import('./block-cache').BlockCache} blocks
 * @property {Decode | null} decode null: records are given as they are stored
 * @property {string | null} filename
 * @property {(cb: (err: Error | null) => void) => void} whenOpen calls back at once if the log is open
 * @property {Set<Stream>} streams those that are open
 */

class Stream {
  /**
   * @param {Log} log
   * @param {StreamOptions} options
   */
  constructor (log, options) {
    this.log = log
    this.options = options
    this.values = options.values !== false
    /** whether it gives objects, of a seq and a value */
    this.both = this.values && options.seqs !== false
    /** null: what is stored is given as it is */
    this.decode = this.values ? log.decode : null
    this.live = !!options.live || options.old === false
    /** How many records it may still give; at most 0: there is no limit. */
    this.left = options.limit ?? 0
    /** @type {Cursor | null} */
    this.walk = null
    /** What is live starts here, or before. */
    this.liveFrom = 0
    /** @type {Answer | null} */
    this.waiting = null
    this.isAtEnd = false
    /** @type {End} */
    this.ended = null
    this.depth = 0
    this.resume = this.resume.bind(this)
    /** What the reader gets. Not made by `bind`: V8 would not compile it into the reader's loop. @type {Source<any>} */
    this.source = (abort, cb) => this.read(abort, cb)
  }

  /**
   * @param {End} abort
   * @param {Answer} cb
   * @returns {void}
   */
  read (abort, cb) {
    if (abort) return this.abort(abort, cb)
    if (this.ended !== null) return cb(this.ended)
    if (this.walk === null) return this.begin(cb)
    if (this.depth > MAX_DEPTH) {
      this.waiting = cb
      process.nextTick(this.resume)
      return
    }
    this.depth++
    this.answer(this.walk, cb)
    this.depth--
  }

  /** @param {Answer} cb */
  begin (cb) {
    this.waiting = cb
    this.log.whenOpen((err) => {
      if (this.ended !== null) return
      if (err) return this.finish(err)
      try {
        this.walk = this.makeWalk()
      } catch (err) {
        return this.finish(/** @type {Error} */ (err))
      }
      this.log.streams.add(this)
      this.resume()
    })
  }

  makeWalk () {
    const { options, log } = this
    const range = rangeOf(options)
    range.reuse = !this.values
    const limit = options.limit ?? 0
    if (!Number.isInteger(limit) && limit !== Infinity) {
      throw errors.invalid(`limit must be a number of records, an integer; it is ${format(limit)}`)
    }
    if (options.old === false) range.min = Math.max(range.min, log.blocks.end)
    this.liveFrom = Math.max(range.min, log.blocks.end)
    return openCursor(log.blocks, range, this.resume)
  }

  /** Goes on with a read that had to wait. */
  resume () {
    const cb = this.waiting
    if (cb === null || this.walk === null) return
    this.waiting = null
    this.isAtEnd = false
    // what is called now begins a stack; and a reader that threw has left too much
    this.depth = 0
    this.answer(this.walk, cb)
  }

  /**
   * Answers a read, if what it asks for is at hand. The hot path is short, so that it
   * is compiled into the reader's loop: what happens once a block is elsewhere.
   * @param {Cursor} walk
   * @param {Answer} cb
   * @returns {void}
   */
  answer (walk, cb) {
    for (;;) {
      const found = walk.next()
      if (found !== RECORD) {
        if (!this.goOn(walk, found, cb)) return
        walk = /** @type {Cursor} */ (this.walk)
        continue
      }
      if (walk.isDeleted()) continue
      if (this.decode === null) return this.give(this.itemOf(walk), cb)
      if (this.giveDecoded(walk, this.decode, cb)) return
    }
  }

  /**
   * @param {Cursor} walk
   * @returns {any} what the stream gives of the current record, which needs no decoding
   */
  itemOf (walk) {
    if (this.both) return { seq: walk.seq, value: walk.data() }
    return this.values ? walk.data() : walk.seq
  }

  /**
   * Apart from `answer`, since to be ready to catch something takes longer than all the rest.
   * @param {Cursor} walk
   * @param {Decode} decode
   * @param {Answer} cb
   * @returns {boolean} whether the read is answered; if not, look for the next record
   */
  giveDecoded (walk, decode, cb) {
    const { seq } = walk
    let value
    try {
      value = decode(walk.data(), seq)
    } catch (err) {
      return !this.skipRecord(walk, /** @type {Error} */ (err), cb)
    }
    this.give(this.both ? { seq, value } : value, cb)
    return true
  }

  /**
   * There is no record at hand.
   * @param {Cursor} walk
   * @param {number} found what there is instead
   * @param {Answer} cb
   * @returns {boolean} whether to look again
   */
  goOn (walk, found, cb) {
    if ((found === AT_END || found === PAST_BOUND) && this.live && this.turnToLive(walk, found)) {
      if (this.walk !== walk) return true
      this.isAtEnd = true
    } else if (found === FAILED && this.options.skipCorrupt && this.skip(walk)) {
      return true
    }
    this.waiting = cb
    if (found === FAILED) this.finish(walk.error)
    else if (found !== WAITING && !this.isAtEnd) this.finish(true)
    return false
  }

  /**
   * The codec cannot decode the record.
   * @param {Cursor} walk
   * @param {Error} err
   * @param {Answer} cb
   * @returns {boolean} whether to go on with the next one
   */
  skipRecord (walk, err, cb) {
    if (this.options.skipCorrupt) {
      this.report(walk.seq, walk.seq + walk.end - walk.start + FRAME_SIZE, err)
      return true
    }
    this.waiting = cb
    this.finish(err)
    return false
  }

  /**
   * @param {any} item
   * @param {Answer} cb
   */
  give (item, cb) {
    if (this.left > 0 && --this.left === 0) this.end(true)
    cb(null, item)
  }

  /**
   * All there was has been read.
   * @param {Cursor} walk
   * @param {number} found
   * @returns {boolean} whether more can come
   */
  turnToLive (walk, found) {
    if (!walk.reverse) return found === AT_END
    // old records come last first, new ones as they are appended
    walk.stop()
    const range = { min: this.liveFrom, max: walk.max, reverse: false, keep: this.options.cache !== false }
    this.walk = openCursor(this.log.blocks, range, this.resume)
    return true
  }

  /**
   * @param {Cursor} walk
   * @returns {boolean} whether the walk can go on behind the block it failed in
   */
  skip (walk) {
    const { number, blockSize, blocks, position, block } = walk
    const error = /** @type {Error & { code?: string }} */ (walk.error)
    if (error.code !== 'flumelog:corrupt') return false
    const start = number * blockSize
    const end = start + (number === blocks.tail.number ? blocks.tail.buffer.length : blockSize)
    walk.skip()
    // a follower may have read the front of a block before it was damaged
    this.report(block === null ? start : start + position, end, error)
    return true
  }

  /**
   * @param {number} start
   * @param {number} end
   * @param {Error} error
   */
  report (start, end, error) {
    const { onSkip } = this.options
    if (onSkip) onSkip({ start, end, error })
  }

  /** @param {End} end */
  end (end) {
    if (this.ended === null) this.ended = end
    if (this.walk !== null) this.walk.stop()
    this.log.streams.delete(this)
  }

  /**
   * Ends, and tells the reader if it waits.
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

  /** The log is closing: who has read it to its end has all of it, whether he waits for more or pauses. */
  close () {
    this.finish(this.isAtEnd || this.hasGivenAll() ? true : errors.closed(this.log.filename))
  }

  /** @returns {boolean} whether no record is left, as far as can be told without reading the file; only asked at the end */
  hasGivenAll () {
    while (this.walk !== null) {
      const { walk } = this
      const found = walk.next()
      if (found === RECORD) {
        if (!walk.isDeleted()) return false
      } else if (found !== AT_END && found !== PAST_BOUND) {
        return false
      } else if (!this.live || !walk.reverse) {
        return true
      } else {
        this.turnToLive(walk, found)
      }
    }
    return false
  }
}

module.exports = { Stream }
