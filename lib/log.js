'use strict'

// The face of a log: it checks what it is given, waits until the log is open, and
// hands on to the writer, the readers and the deleter.

const Obv = require('obz')
const layout = require('./format/layout')
const errors = require('./errors')
const { promises } = require('./storage/promisified-file')
const { callAll, mustBeFunction, optional } = require('./callbacks')
const { BlockCache } = require('./read/block-cache')
const { findBlockSize } = require('./recovery/block-size')
const { findEnd, repair } = require('./recovery/recover')
const { sizeOf } = require('./storage/path-file')
const { Writer } = require('./write/writer')
const { Deleter } = require('./write/deleter')
const { Follower } = require('./read/follower')
const { Stream } = require('./read/stream')
const { OpenStreams } = require('./read/open-streams')
const { RecordReader, problemOf } = require('./read/get')
const { TurnBudget } = require('./read/turn-budget')
const { scan } = require('./read/scan')
const { search } = require('./read/search')
const { sink } = require('./write/sink')
const { checkHighWaterMark, checkOverflow, format, DEFAULT_BLOCK_SIZE, IDENTITY } = require('./options')

/** How deep a caller may call from within its own callback before it is given a new stack. */
const MAX_DEPTH = 64

/**
 * @typedef {(err?: Error | null) => void} Done
 * @typedef {import('./read/options').StreamOptions} StreamOptions
 */

/**
 * @typedef {object} Cut what opening cut off, since it was no whole record
 * @property {number} offset where the log ends now
 * @property {number} bytes
 * @property {string | null} filename of the file that has it
 */

/**
 * @typedef {{ records: number, bytes: number }} Count bytes of data
 * @typedef {object} Stats counters, which only grow, and gauges
 * @property {Count} appended taken in by append
 * @property {Count} written acknowledged
 * @property {Count} synced acknowledged, and known to be on the disk
 * @property {Count} rejected got an error
 * @property {Count} inFlight appended, and neither acknowledged nor rejected
 * @property {number} writes to the file
 * @property {number} syncs of the file
 * @property {number} unsynced bytes written and not known to be on the disk
 * @property {{ hits: number, misses: number, evictions: number }} cache blocks
 * @property {number} streams that are open
 * @property {number} size bytes in the log
 * @property {number} blocks in the log, the last one included
 * @property {number} recovered bytes behind the recovery point that opening found whole
 * @property {Cut | null} cut what opening cut off
 */

/**
 * The part of an `obz` observable that reads it. Called with a listener, it calls that with the seq there is (unless
 * `immediately` is false) and with each that comes; what it returns, and false from the listener, ends that.
 * @typedef {{
 *   (listener: (seq: number) => unknown, immediately?: boolean): () => void,
 *   once (listener: (seq: number) => unknown, immediately?: boolean): () => void,
 *   readonly value: number | undefined
 * }} Since
 */

/**
 * @template [T=Buffer] a record, as the codec decodes it
 * @template [A=T] what may be appended
 * @typedef {object} FlumeLog
 * @property {string | null} filename the path it was opened with; null for a storage that has none
 * @property {number} blockSize in bytes; what the file says, once the log is open
 * @property {import('./options').Codec<T>} codec
 * @property {Since} since `obz` observable of the last record's seq: undefined until open, -1 when empty
 * @property {number} highWaterMark see the option
 * @property {'queue' | 'reject'} overflow see the option
 * @property {Append<A>} append
 * @property {(seq: number, cb: (err: Error | null, value?: T) => void) => void} get
 *   the record that starts at `seq`. Errors: `flumelog:deleted`; `flumelog:not-found` if no record starts there;
 *   `flumelog:invalid` if `seq` is no integer >= 0; `flumelog:corrupt`
 * @property {(seq: number, cb: (err: Error | null, value?: T, seq?: number) => void) => void} getPrevious
 *   the record before the one at `seq`, deleted ones left out; `seq` may also be where the log ends.
 *   Errors as for get; `flumelog:not-found` if there is none before it
 * @property {import('./read/stream').StreamFunction<T>} stream a pull-stream source of `{ seq, value }`, of seqs or of values
 * @property {(options: import('./read/options').ScanOptions, onRecord: import('./read/scan').OnRecord, cb: (err: Error | null) => void) => void} scan
 *   the same walk without making a Buffer or an object a record; ends with the first record for which false is returned
 * @property {(options?: import('./write/sink').SinkOptions | import('./write/sink').Sunk, cb?: import('./write/sink').Sunk) => import('./write/sink').Sink<A>} sink
 *   a pull-stream sink that appends what it is given, in order. It stops reading while `highWaterMark` bytes are in
 *   flight, until half of them are written. `cb(err, { records, bytes, seq })` when all of it is stored
 * @property {(compare: (value: T, seq: number) => number | bigint, cb: (err: Error | null, seq?: number, value?: T) => void) => void} search
 *   the first record for which `compare` is >= 0, in a log that is in the order of what it compares.
 *   Errors: `flumelog:not-found` if it is negative for all; `flumelog:invalid` if it gives no number; what it throws
 * @property {(seq: number | number[], cb?: Done) => void} del zeroes the record, or the records. To delete one
 *   that is deleted already is no error. Errors: `flumelog:not-found`, `flumelog:invalid`, `flumelog:read-only`
 * @property {(cb: (err: Error | null, cut?: Cut | null) => void) => void} onReady the log is open, or cannot be opened
 * @property {(cb: Done) => void} onDrain all appended so far is written
 * @property {(cb?: Done) => void} sync all appended so far is on the disk
 * @property {(cb?: Done) => void} close all appended is on the disk, and the lock is released. To close twice is no error
 * @property {() => Stats} stats
 * @property {{ del: 'async' }} methods what flumedb adds to its own methods
 */

/**
 * @typedef {object} AppendOptions
 * @property {boolean} [sync] it is on the disk before the callback
 * @property {boolean} [atomic] after a crash all of a batch is there, or none of it; it gets a block of its own, and is
 *   on the disk before the callback, which is given the seqs of all its records. Too large for one block is `flumelog:too-large`
 */

/**
 * Stores a record, or several that come to stand one after the other. The callback is called, in the order of the calls,
 * when all of them are written; or synced, with `sync: 'always'` or `options.sync`. `seq` is the last record's.
 * Errors, with nothing stored: `flumelog:invalid` for what the codec cannot encode, an empty record, or one of
 * zeros only; `flumelog:too-large`; `flumelog:overflow`; `flumelog:closed`; `flumelog:read-only`; `flumelog:failed` after a failed sync;
 * those of the operating system.
 * @template [A=Buffer]
 * @typedef {{
 *   (value: A | A[], cb?: (err: Error | null, seq?: number) => void): void,
 *   (value: A | A[], options: AppendOptions & { atomic: true }, cb?: (err: Error | null, seqs?: number[]) => void): void,
 *   (value: A | A[], options: AppendOptions & { atomic?: false } | boolean, cb?: (err: Error | null, seq?: number) => void): void
 * }} Append
 */

/**
 * @param {import('./storage/path-file').LogFile} file
 * @param {import('./options').Settings} settings
 * @returns {FlumeLog<any>}
 */
function createLog (file, settings) {
  const { filename } = file
  const { codec, readOnly } = settings
  const io = promises(file)
  const since = Obv()

  const turn = new TurnBudget()
  // a live stream on a log that another process writes keeps this process alive while its reader waits
  const streams = new OpenStreams((isWaiting) => isWaiting ? follower?.watch?.hold() : follower?.watch?.release())
  /** Calls made before the log was open. @type {Array<(err: Error | null) => void> | null} */
  let waiting = []
  /** Why no further call is taken. @type {Error | null} */
  let refusal = null
  /** @type {Done[] | null} */
  let closing = null
  let closed = false
  let depth = 0
  /** @type {Cut | null} */
  let cut = null
  let recovered = 0
  let { highWaterMark, overflow } = settings

  let blockSize = settings.blockSize ?? DEFAULT_BLOCK_SIZE
  let blocks = new BlockCache(file, { ...settings, blockSize, cacheSize: 0 })
  /** @type {Writer | null} */
  let writer = null
  /** @type {Deleter | null} */
  let deleter = null
  /** @type {Follower | null} */
  let follower = null

  const sunk = { whenOpen, encode, rejected, writer: () => writer, refusal: () => refusal, filename }
  const reading = {
    get blocks () { return blocks },
    decode: codec === IDENTITY ? null : decode,
    filename,
    isOpen: () => waiting === null && refusal === null,
    whenOpen,
    streams,
    turn
  }
  let records = new RecordReader(reading)

  open().then(opened, notOpened)

  // Opening

  async function open () {
    await io.open()
    try {
      const [size, point] = await Promise.all([io.size(), io.readPoint()])
      blockSize = await findBlockSize(io.read, size, settings.blockSize, DEFAULT_BLOCK_SIZE, filename, point !== null)
      const found = await findEnd(io.read, size, point, { blockSize, checksum: settings.checksum, isWhole })
      const needsRepair = point !== null || found.cut > 0 || found.damagedTail !== null
      if (needsRepair && !readOnly) {
        const name = await repair(io, found, blockSize)
        recovered = found.walked
        if (found.cut > 0) cut = { offset: found.kept, bytes: found.cut, filename: name }
      }
      assemble(found, point)
      await follower?.begin()
      return follower ?? found
    } catch (err) {
      follower?.close()
      follower = null
      await io.close().catch(() => {})
      throw err
    }
  }

  /**
   * @param {import('./recovery/recover').Found} found
   * @param {import('./storage/recovery-point').RecoveryPoint | null} point
   */
  function assemble (found, point) {
    const { checksum, cacheSize } = settings
    blocks = new BlockCache(file, { blockSize, checksum, cacheSize })
    blocks.tail = found.tail
    records = new RecordReader(reading)
    log.blockSize = blockSize
    if (!readOnly) {
      writer = new Writer(file, blocks, { ...settings, blockSize, highWaterMark, overflow }, found.lastSeq, advanced)
      deleter = new Deleter(file, blocks, writer)
    } else {
      const asked = settings.blockSize
      follower = new Follower(file, io, blocks, found, point, { blockSize: asked, onadvance: advanced, onblocksize: corrected, onfailure: failed })
    }
  }

  /** @param {{ lastSeq: number }} found */
  function opened (found) {
    process.nextTick(() => {
      callAll([() => since.set(found.lastSeq), release], null)
    })
  }

  /** @param {Error} err */
  function notOpened (err) {
    refusal = err
    process.nextTick(release, err)
  }

  /** @param {Error | null} err */
  function release (err) {
    const calls = /** @type {Array<(err: Error | null) => void>} */ (waiting)
    waiting = null
    callAll(calls, err)
  }

  /**
   * Calls back when the log is open; at once, if it is. A log that cannot be opened,
   * or is closed, gives its error to every call.
   * @param {(err: Error | null) => void} cb
   */
  function whenOpen (cb) {
    if (refusal !== null) process.nextTick(cb, refusal)
    else if (waiting !== null) waiting.push((err) => cb(err ?? refusal)) // a close may be before it
    else if (depth > MAX_DEPTH) process.nextTick(whenOpen, cb)
    else {
      depth++
      try {
        cb(null)
      } finally {
        depth--
      }
    }
  }

  /**
   * @param {Buffer} data
   * @returns {boolean} whether a record is what was once appended, as far as can be told
   */
  function isWhole (data) {
    try {
      decode(data, 0)
      return settings.validate === undefined || settings.validate(data) !== false
    } catch {
      return false
    }
  }

  // Following the end of the log

  /** @param {number} seq */
  function advanced (seq) {
    // a follower may have gone on without finding a record
    const moved = seq === since.value ? [] : [() => since.set(seq)]
    callAll([...moved, () => streams.resumeWaiting()], null)
  }

  /** @param {number} found */
  function corrected (found) {
    blockSize = log.blockSize = found
  }

  /** @param {Error} err a follower's: what was read before cannot be relied on */
  function failed (err) {
    refusal = err
    streams.fail(err)
  }

  // Codec

  /**
   * @param {Buffer} data
   * @param {number} seq
   * @throws flumelog:corrupt
   */
  function decode (data, seq) {
    try {
      return codec.decode(codec.buffer === false ? data.toString() : data)
    } catch (cause) {
      const position = seq % blockSize
      throw errors.corrupt(filename, (seq - position) / blockSize, blockSize, position, 'the codec cannot decode the record', cause)
    }
  }

  /**
   * @param {any} value
   * @returns {Uint8Array} its record's bytes, to be stored before anything else is encoded
   */
  function encode (value) {
    return fitting(recordOf(encoded(value)))
  }

  /**
   * @param {any[]} values
   * @returns {Uint8Array[]}
   */
  function encodeBatch (values) {
    return Array.from(values, (value) => {
      const data = encoded(value)
      // the codec may use its buffer again for the next one
      return fitting(recordOf(data instanceof Uint8Array && data !== value ? Buffer.from(data) : data))
    })
  }

  /**
   * @param {any} value
   * @returns {Uint8Array} its record's bytes, to be stored when the log is open: until then the caller may change his
   */
  function encodeEarly (value) {
    const data = encoded(value)
    return recordOf(data instanceof Uint8Array ? Buffer.from(data) : data)
  }

  /**
   * @param {any} value
   * @returns {unknown} what the codec makes of it
   */
  function encoded (value) {
    try {
      return codec.encode(value)
    } catch (err) {
      throw errors.invalid(`the codec cannot encode the record: ${/** @type {Error} */ (err)?.message ?? err}`, err)
    }
  }

  /**
   * @param {unknown} data
   * @returns {Uint8Array}
   */
  function recordOf (data) {
    if (typeof data === 'string') data = Buffer.from(data)
    if (!(data instanceof Uint8Array)) throw errors.invalid(`a record must be a Buffer, a Uint8Array or a string, or the codec must make one of it; it is ${format(data)}`)
    if (data.length === 0) throw errors.invalid('a record must have at least one byte')
    if (!layout.isStorable(data)) throw errors.invalid('a record of zeros only cannot be stored: it could not be told from a deleted one')
    return data
  }

  /**
   * @param {Uint8Array} data
   * @returns {Uint8Array} the same
   */
  function fitting (data) {
    const most = layout.maxRecordSize(blockSize, settings.checksum)
    if (data.length > most) throw errors.tooLarge(data.length, most, blockSize)
    return data
  }

  // Writing

  /**
   * @param {any} value
   * @param {any} options
   * @param {any} [cb]
   */
  function append (value, options, cb) {
    if (typeof options === 'function') {
      cb = options
      options = undefined
    }
    cb = optional(cb)
    const { sync = false, atomic = false } = typeof options === 'object' && options !== null ? options : NO_OPTIONS
    if (waiting !== null && refusal === null) return appendWhenOpen(value, { sync, atomic }, cb)
    if (refusal !== null || writer === null) return reject(refusal ?? errors.readOnly(filename, 'append'), writer && countOf(value), cb)
    let data
    try {
      data = Array.isArray(value) ? encodeBatch(value) : encode(value)
    } catch (err) {
      return reject(err, countOf(value), cb)
    }
    store(data, sync, atomic, cb)
  }

  /**
   * @param {Uint8Array | Uint8Array[]} data
   * @param {boolean} forced
   * @param {boolean} atomic
   * @param {((err: Error | null, seq?: any) => void) | undefined} cb
   */
  function store (data, forced, atomic, cb) {
    const to = /** @type {Writer} */ (writer)
    if (atomic) storeAtomic(Array.isArray(data) ? data : [data], forced, cb)
    else if (Array.isArray(data)) to.appendBatch(data, forced, cb)
    else to.append(data, forced, cb)
  }

  /**
   * @param {Uint8Array[]} batch
   * @param {boolean} forced
   * @param {((err: Error | null, seqs?: any) => void) | undefined} cb
   */
  function storeAtomic (batch, forced, cb = noop) {
    const bytes = batch.reduce((sum, data) => sum + data.length + layout.FRAME_SIZE, -layout.FRAME_SIZE)
    const most = layout.maxRecordSize(blockSize, settings.checksum)
    if (bytes > most) reject(errors.tooLargeTogether(bytes, most, blockSize), countIn(batch), cb)
    else /** @type {Writer} */ (writer).appendAtomic(batch, forced, cb)
  }

  /**
   * @param {any} value
   * @param {{ sync: boolean, atomic: boolean }} options
   * @param {((err: Error | null, seq?: any) => void) | undefined} cb
   */
  function appendWhenOpen (value, options, cb) {
    /** @type {Uint8Array[]} */
    let batch = []
    /** @type {unknown} */
    let problem = null
    let count
    try {
      batch = Array.isArray(value) ? Array.from(value, encodeEarly) : [encodeEarly(value)]
      count = countIn(batch)
    } catch (err) {
      problem = err
      count = countOf(value)
    }
    whenOpen((err) => {
      if (err) {
        // at once: `close` may be called back next
        if (writer !== null) writer.reject(count)
        return cb && cb(err)
      }
      try {
        if (writer === null) throw errors.readOnly(filename, 'append')
        if (problem !== null) throw problem
        batch.forEach(fitting)
      } catch (err) {
        return reject(err, count, cb)
      }
      store(Array.isArray(value) ? batch : batch[0], options.sync, options.atomic, cb)
    })
  }

  /**
   * An append gets an error, once the caller's own code has run.
   * @param {unknown} err
   * @param {Count | null} count of what is not stored; null: the log was never open for writing
   * @param {((err: any) => void) | undefined} cb
   */
  function reject (err, count, cb) {
    if (writer !== null && count !== null) writer.reject(count)
    if (cb) process.nextTick(cb, err)
  }

  /**
   * A sink could not append a value.
   * @param {any} value
   */
  function rejected (value) {
    if (writer !== null) writer.reject({ records: 1, bytes: encodedSize(value) })
  }

  /**
   * @param {any} value or several, of which not all can be encoded
   * @returns {Count} of them; what the codec cannot encode has no bytes
   */
  function countOf (value) {
    const values = Array.isArray(value) ? Array.from(value) : [value]
    return { records: values.length, bytes: values.reduce((sum, value) => sum + encodedSize(value), 0) }
  }

  /** @param {any} value */
  function encodedSize (value) {
    try {
      const data = codec.encode(value)
      if (typeof data === 'string') return Buffer.byteLength(data)
      return data instanceof Uint8Array ? data.length : 0
    } catch {
      return 0
    }
  }

  /**
   * @param {Uint8Array[]} batch
   * @returns {Count}
   */
  function countIn (batch) {
    return { records: batch.length, bytes: sizeOf(batch) }
  }

  /**
   * @param {string} what
   * @param {Done} cb
   */
  function refuse (what, cb) {
    process.nextTick(cb, refusal ?? errors.readOnly(filename, what))
  }

  /** @type {FlumeLog['del']} */
  function del (seqs, callback) {
    const cb = optional(callback) ?? noop
    whenOpen((err) => {
      if (err) return cb(err)
      if (deleter === null) return refuse('delete', cb)
      const list = Array.isArray(seqs) ? seqs : [seqs]
      const wrong = list.map(seq => problemOf(blocks, seq)).find(problem => problem !== null)
      if (wrong) return later(cb, wrong)
      let left = list.length
      if (left === 0) return later(cb, null)
      /** @type {Error | null} */
      let first = null
      for (const seq of list) {
        deleter.erase(seq, (err) => {
          first ??= err ?? null
          if (--left === 0) cb(first)
        })
      }
    })
  }

  // Reading

  /** @type {FlumeLog['get']} */
  function get (seq, cb) {
    mustBeFunction('the callback', cb)
    if (waiting !== null || refusal !== null || records.mustWait()) return getLater(seq, cb)
    records.get(seq, cb)
  }

  /** @type {FlumeLog['get']} */
  function getLater (seq, cb) {
    if (waiting === null && refusal === null) records.postpone(() => refusal === null ? records.get(seq, cb) : cb(refusal))
    else whenOpen((err) => err ? cb(err) : records.get(seq, cb))
  }

  /** @type {FlumeLog['getPrevious']} */
  function getPrevious (seq, cb) {
    mustBeFunction('the callback', cb)
    whenReadable((err) => err ? cb(err) : records.getPrevious(seq, cb))
  }

  /**
   * As `whenOpen`, for reads that may be answered from memory.
   * @param {(err: Error | null) => void} cb
   */
  function whenReadable (cb) {
    if (waiting === null && refusal === null && turn.isSpent()) turn.defer(() => whenOpen(cb))
    else whenOpen(cb)
  }

  /** @param {StreamOptions} [options] */
  function stream (options) {
    return new Stream(reading, options ?? {}).source
  }

  // Ends

  /** @type {FlumeLog['close']} */
  function close (callback) {
    const cb = optional(callback) ?? noop
    if (closed) return later(cb, null)
    if (closing !== null) {
      closing.push(cb)
      return
    }
    closing = [cb]
    turn.flush()
    if (waiting !== null) waiting.push(closeOpen)
    else closeOpen(refusal)
  }

  /** @param {Error | null} notOpen */
  function closeOpen (notOpen) {
    if (notOpen !== null && writer === null && follower === null) return finishClosing(null)
    refusal = errors.closed(filename)
    if (writer === null) return closeFile(null)
    writer.close(closeFile)
  }

  /** @param {Error | null | undefined} failure */
  function closeFile (failure) {
    follower?.close()
    blocks.closed = true
    streams.close()
    file.close((err) => finishClosing(failure || err || null))
  }

  /** @param {Error | null} err */
  function finishClosing (err) {
    refusal ??= errors.closed(filename)
    closed = true
    callAll(/** @type {Done[]} */ (closing), err)
  }

  function stats () {
    const { hits, misses, evictions } = blocks
    const zero = { records: 0, bytes: 0 }
    const { appended, written, synced, rejected, inFlight, writes, syncs } = writer?.counts ?? {
      appended: zero, written: zero, synced: zero, rejected: zero, inFlight: zero, writes: 0, syncs: 0
    }
    return {
      appended: { ...appended },
      written: { ...written },
      synced: { ...synced },
      rejected: { ...rejected },
      inFlight: { ...inFlight },
      writes,
      syncs,
      unsynced: writer === null ? 0 : writer.written - writer.synced,
      cache: { hits, misses, evictions },
      streams: streams.size,
      size: blocks.end,
      blocks: blocks.tail.number + (blocks.tail.end > 0 ? 1 : 0),
      recovered,
      cut
    }
  }

  /** @type {Omit<FlumeLog<any>, 'highWaterMark' | 'overflow'>} */
  const log = {
    filename,
    blockSize,
    codec,
    since,
    append,
    get,
    getPrevious,
    stream,
    scan (options, onRecord, cb) {
      mustBeFunction('onRecord', onRecord)
      mustBeFunction('the callback', cb)
      whenReadable((err) => err ? cb(err) : scan(reading, options, onRecord, cb))
    },
    search (compare, cb) {
      mustBeFunction('the callback', cb)
      whenReadable((err) => err ? cb(err) : search(reading, compare, cb))
    },
    sink: (options, cb) => typeof options === 'function' ? sink(sunk, {}, options) : sink(sunk, options ?? {}, cb),
    del,
    onReady (cb) {
      mustBeFunction('the callback', cb)
      whenOpen((err) => cb(err, cut))
    },
    onDrain (cb) {
      mustBeFunction('the callback', cb)
      whenOpen((err) => err || writer === null ? cb(err) : writer.drain((err) => process.nextTick(cb, err)))
    },
    sync (callback) {
      const cb = optional(callback) ?? noop
      whenOpen((err) => err || writer === null ? cb(err) : writer.sync((err) => process.nextTick(cb, err)))
    },
    close,
    stats,
    methods: { del: 'async' }
  }
  // `get` and `set` in the literal would make V8 look up every member of the log in a table, at each use
  return /** @type {FlumeLog<any>} */ (Object.defineProperties(log, {
    highWaterMark: {
      enumerable: true,
      get: () => highWaterMark,
      set (bytes) {
        highWaterMark = checkHighWaterMark(bytes)
        if (writer !== null) writer.highWaterMark = highWaterMark
      }
    },
    overflow: {
      enumerable: true,
      get: () => overflow,
      set (what) {
        overflow = checkOverflow(what)
        if (writer !== null) writer.overflow = overflow
      }
    }
  }))
}

/**
 * @param {(err: Error | null) => void} cb
 * @param {Error | null} err
 */
function later (cb, err) {
  process.nextTick(cb, err)
}

const NO_OPTIONS = { sync: false, atomic: false }

function noop () {}

module.exports = { createLog }
