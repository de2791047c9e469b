'use strict'

// Appends that are made before the log is open: packed into blocks at once, as if the log
// were empty. Its writer takes over these blocks as they are, if they can follow what is
// in the log; otherwise, the calls are made again, with the records in these blocks. No I/O.

const layout = require('../format/layout')
const { Block } = require('../format/block')
const { DEFAULT_BLOCK_SIZE } = require('../options')
const { Appender } = require('./appender')
const { Packer } = require('./packer')
const { Writer } = require('./writer')

/** Blocks that are worth padding the log's last one for: on average, that half of a block stays empty costs 3 % of their space. */
const MANY_BLOCKS = 16
/** Fewer bytes than this are appended again in a few milliseconds. */
const MANY_BYTES = 1024 * 1024

/** @type {Buffer} */
const NO_BYTES = Buffer.alloc(0)

/**
 * @typedef {import('./commit-group').CommitGroup} CommitGroup
 * @typedef {import('../record-codec').RecordCodec} RecordCodec
 * @typedef {Writer | import('../sharing/remote-writer').RemoteWriter} AnyWriter
 */

/** @typedef {{ isAtomic: boolean, after: number | null }} CallOptions after: see `appendAfter`; null: the call has no condition */

/** @type {CallOptions} */
const NO_OPTIONS = { isAtomic: false, after: null }

/**
 * Remembers which calls are atomic or conditional: they are made again.
 * @extends {Appender<Packer>}
 */
class EarlyAppender extends Appender {
  /**
   * @param {Packer} packer
   * @param {(error: Error) => void} onrefused an append without a callback gets this error, which the calls before it must not report
   */
  constructor (packer, onrefused) {
    super(packer, '', -1, () => {})
    this.onrefused = onrefused
    /** By the seq of the call's last record. @type {Map<number, CallOptions>} */
    this.options = new Map()
  }

  /**
   * @param {Uint8Array[]} batch
   * @param {boolean} sync
   * @param {((err: Error | null, seqs?: number[]) => void) | undefined} cb
   * @returns {number[]}
   */
  appendAtomic (batch, sync, cb) {
    const seqs = super.appendAtomic(batch, sync, cb)
    if (seqs.length > 0) this.options.set(seqs[seqs.length - 1], { isAtomic: true, after: null })
    return seqs
  }

  /**
   * @param {number} after what it is compared with is known when the log is open
   * @param {Uint8Array[]} batch
   * @param {boolean} sync
   * @param {boolean} isAtomic
   * @param {((err: Error | null, result?: any) => void) | undefined} cb
   */
  appendAfter (after, batch, sync, isAtomic, cb) {
    if (isAtomic) this.appendAtomic(batch, sync, cb)
    else this.appendBatch(batch, sync, cb)
    this.options.set(this.lastAppended, { isAtomic, after })
  }

  /**
   * @param {Error} error
   * @param {((err: Error) => void) | undefined} cb
   */
  reject (error, cb) {
    if (cb === undefined) this.onrefused(error)
    else super.reject(error, cb)
  }
}

class EarlyAppends {
  /**
   * @param {{ blockSize: number | undefined, checksum: boolean }} settings
   * @param {(error: Error) => void} onrefused see `EarlyAppender`
   */
  constructor ({ blockSize = DEFAULT_BLOCK_SIZE, checksum }, onrefused) {
    const tail = new Block(0, Buffer.allocUnsafe(blockSize), 0, false)
    this.packer = new Packer(tail, blockSize, checksum)
    this.appender = new EarlyAppender(this.packer, onrefused)
  }

  /**
   * The log is open.
   * @param {AnyWriter} writer
   * @param {RecordCodec} codec which knows the log's block size
   */
  moveTo (writer, codec) {
    if (writer instanceof Writer && this.canFollow(writer.packer)) writer.takeOver(this.appender)
    else this.appendAgain(writer.appender, codec)
  }

  /**
   * @param {Packer} packer of the log
   * @returns {boolean} whether the blocks can follow what is in the log
   */
  canFollow ({ blockSize, end }) {
    const { blocks } = this.packer
    if (blockSize !== this.packer.blockSize || this.appender.options.size > 0) return false
    return end === 0 || (blocks.length >= MANY_BLOCKS && blocks.length * blockSize >= MANY_BYTES)
  }

  /**
   * @param {Appender<any>} appender of the log
   * @param {RecordCodec} codec
   */
  appendAgain (appender, codec) {
    const { waiters } = this.appender
    const packed = new PackedRecords(this.packer)
    for (const group of [...waiters.groups, waiters.newest]) this.appendGroup(group, packed, appender, codec)
  }

  /**
   * @param {CommitGroup} group
   * @param {PackedRecords} packed
   * @param {Appender<any>} appender
   * @param {RecordCodec} codec
   */
  appendGroup ({ callbacks, seqs, count }, packed, appender, codec) {
    const { syncTo, options } = this.appender
    for (let i = 0; i < count; i++) {
      const cb = callbacks[i]
      const batch = codec.joined(packed.takeUpTo(seqs[i]))
      const { isAtomic, after } = (batch.length > 0 && options.get(seqs[i])) || NO_OPTIONS
      // those before the last one with `sync` can have it, too; but a batch without records would be a sync of its own
      const sync = packed.taken <= syncTo && (batch.length > 0 || packed.isOver())
      try {
        for (const data of batch) codec.fittingStored(data)
        if (isAtomic) codec.fittingTogether(batch)
      } catch (err) {
        appender.reject(/** @type {Error} */ (err), cb)
        continue
      }
      if (batch.length === 0) appender.appendBatch(batch, sync, cb)
      else if (after !== null) appender.appendAfter(after, batch, sync, isAtomic, isAtomic ? lastOf(cb) : cb)
      else if (isAtomic) appender.appendAtomic(batch, sync, lastOf(cb))
      else if (batch.length === 1) appender.append(batch[0], sync, cb)
      else appender.appendBatch(batch, sync, cb)
    }
  }

  /**
   * The log cannot be opened.
   * @param {Error} error
   * @returns {boolean} whether there were any calls, all of which were told
   */
  fail (error) {
    const { appender: { waiters } } = this
    const { length } = waiters.fail(0, error)
    waiters.answer()
    return length > 0 && waiters.unreported === null
  }
}

/** The records in a packer's blocks, first to last. */
class PackedRecords {
  /** @param {Packer} packer */
  constructor ({ blocks, blockSize, position }) {
    this.blockSize = blockSize
    /** Those before `index` are not needed any more. @type {Array<Block | null>} */
    this.blocks = blocks
    this.index = 0
    this.buffer = NO_BYTES
    this.position = 0
    /** Where the records of the last block end. */
    this.lastEnd = position
    this.end = 0
    /** The offset after the last record that was taken. */
    this.taken = 0
    this.enterBlock(0)
  }

  /** @param {number} index */
  enterBlock (index) {
    this.index = index
    this.buffer = /** @type {Block} */ (this.blocks[index]).buffer
    this.position = 0
    this.end = index === this.blocks.length - 1 ? this.lastEnd : layout.paddingStart(this.buffer)
  }

  isOver () {
    return this.position === this.end && this.index === this.blocks.length - 1
  }

  /**
   * @param {number} seq
   * @returns {Buffer[]} the next records, up to the one at this offset
   */
  takeUpTo (seq) {
    const batch = []
    while (this.position < this.end && this.index * this.blockSize + this.position <= seq) {
      batch.push(layout.dataAt(this.buffer, this.position))
      this.position = layout.nextPosition(this.buffer, this.position)
      this.taken = this.index * this.blockSize + this.position
      if (this.position === this.end && this.index < this.blocks.length - 1) {
        this.blocks[this.index] = null
        this.enterBlock(this.index + 1)
      }
    }
    return batch
  }
}

/**
 * @param {import('./commit-group').Appended | undefined} cb of an atomic batch
 * @returns {((err: Error | null, seqs?: number[]) => void) | undefined}
 */
function lastOf (cb) {
  return cb && ((err, seqs) => cb(err, seqs?.[seqs.length - 1]))
}

module.exports = { EarlyAppends }
