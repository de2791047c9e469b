'use strict'

// Deletions: readers see them at once, the log a little later. And how many bytes deleted records take, which are counted when somebody asks.

const errors = require('./errors')
const { callbacks: { callAll }, layout: { FRAME_SIZE } } = require('flumelog-random-access-file/blocks')

/** @typedef {import('./types').Done} Done */

class Deletions {
  /** @param {import('./store').Store} store */
  constructor (store) {
    this.store = store
    /** Seqs of records that the log has not deleted yet. @type {Set<number>} */
    this.pending = new Set()
    /** How many calls wait until their records are stored and read, to see whether there are any. */
    this.lookups = 0
    /** Whether some may not be durable. */
    this.isDirty = false
    /** Why some were not stored; `whenFlushed` tells. @type {Error | null} */
    this.failure = null
    /** @type {Done[]} */
    this.waiting = []
    /** Those whose deletions are being made durable. @type {Done[]} */
    this.flushing = []
    this.isFlushing = false
    /** Of how many that is. */
    this.flushed = 0
    /** How many there were since the log was opened. */
    this.deletions = 0
    /** null: not known. @type {number | null} */
    this.deletedBytes = null
  }

  /** @param {number} seq */
  isPending (seq) {
    return this.pending.size > 0 && this.pending.has(seq)
  }

  /**
   * @param {number} seq
   * @param {number} offset
   * @param {Done} cb
   */
  del (seq, offset, cb) {
    const { store } = this
    // who asks from now on whether all is flushed waits for this one, too
    this.deletions++
    this.isDirty = true
    this.lookups++
    // what is not stored is not deleted
    store.whenStored(offset, (err) => {
      if (err) this.found(seq, err, cb)
      else store.records.get(offset, (err, data) => this.found(seq, err, cb, data))
    })
  }

  /**
   * @param {number} seq
   * @param {any} err of looking the record up
   * @param {Done} cb of its deletion
   * @param {Buffer} [data] of the record
   */
  found (seq, err, cb, data) {
    const { store } = this
    this.lookups--
    // not if it was asked for twice, before it was read
    if (data !== undefined && !this.pending.has(seq)) {
      this.pending.add(seq)
      this.add(data.length + FRAME_SIZE)
      store.log?.del(seq, (err) => this.deleted(seq, err))
    }
    if (this.waiting.length > 0) this.flush()
    cb(err && err.code !== errors.deleted().code ? err : null)
  }

  /**
   * @param {number} seq
   * @param {Error | null | undefined} err
   */
  deleted (seq, err) {
    this.pending.delete(seq)
    if (err) {
      this.failure ??= err
      this.deletedBytes = null
    }
    if (this.waiting.length > 0) this.flush()
  }

  /** @param {Done} cb */
  whenFlushed (cb) {
    if (!this.isDirty) return cb(null)
    if (this.isFlushing && this.deletions === this.flushed) {
      this.flushing.push(cb)
      return
    }
    this.waiting.push(cb)
    this.flush()
  }

  flush () {
    if (this.isFlushing || this.lookups > 0 || this.pending.size > 0) return
    const { failure } = this
    this.flushing = this.waiting.splice(0)
    this.failure = null
    this.isFlushing = true
    this.flushed = this.deletions
    this.store.log?.sync((err) => {
      this.isFlushing = false
      if (!err && this.deletions === this.flushed) this.isDirty = false
      callAll(this.flushing.splice(0), failure ?? err)
      if (this.waiting.length > 0) this.flush()
    })
  }

  // Bytes

  /** @param {number} bytes */
  add (bytes) {
    if (this.deletedBytes !== null) this.deletedBytes += bytes
  }

  /** @param {(err: Error | null, bytes?: number) => void} cb */
  bytes (cb) {
    const { log } = this.store
    if (this.deletedBytes !== null || log === null) return cb(null, this.deletedBytes ?? 0)
    const { deletions, lookups } = this
    const { id } = log
    let bytes = 0
    log.scan({ deleted: true, cache: false, reuse: true }, (block, start, end, seq) => {
      if (block === null || this.isPending(seq)) bytes += end - start + FRAME_SIZE
    }, (err) => {
      if (err) return cb(err)
      // a compaction has left some out, which were counted, or not
      if (log.id !== id) return this.bytes(cb)
      // what was deleted meanwhile was counted, or not
      if (lookups === 0 && this.deletions === deletions) this.deletedBytes = bytes
      cb(null, bytes)
    })
  }

  /** After a compaction there are none, but for the one that stays where nothing else does, and those that were deleted meanwhile. */
  reset () {
    this.deletedBytes = null
  }
}

module.exports = { Deletions }
