'use strict'

// A log's file in memory whose operations that change it are pending until a test lets
// them finish, one by one, with success or with an error.

const { NOWHERE, noWatch, readEach, statusOf, writeJoined } = require('./calls-of-files')
const { SimulatedMetadata, linesOf } = require('./simulated-metadata')

class HeldFile {
  constructor () {
    this.bytes = Buffer.alloc(0)
    /** What is durable. */
    this.durable = this.bytes
    /** Operations in the order in which they were asked for. @type {Array<{ kind: string, finish: (err?: Error) => void }>} */
    this.pending = []
    /** Kinds of operations that are pending until the test lets them finish; the others finish by themselves. */
    this.held = new Set()
    /** How often each kind was asked for. @type {Record<string, number>} */
    this.counts = {}
    this.isClosed = false
    /** @type {Array<import('./disk-file').DiskFile | null>} */
    this.metadataVersions = [null]
    this.onpending = () => {}
  }

  /**
   * @param {string} kind
   * @param {() => void} apply
   * @param {(err: Error | null) => void} cb
   */
  operation (kind, apply, cb) {
    if (this.isClosed) throw new Error(`${kind} after the file was closed`)
    this.counts[kind] = (this.counts[kind] ?? 0) + 1
    const finish = (/** @type {Error | undefined} */ err) => {
      this.pending = this.pending.filter(one => one.finish !== finish)
      if (!err) apply()
      cb(err ?? null)
    }
    if (!this.held.has(kind)) setImmediate(finish)
    else {
      this.pending.push({ kind, finish })
      this.onpending()
    }
  }

  /**
   * Waits until an operation of a kind is pending.
   * @param {string} kind
   * @returns {Promise<{ kind: string, finish: (err?: Error) => void }>}
   */
  async next (kind) {
    for (;;) {
      const found = this.pending.find(one => one.kind === kind)
      if (found !== undefined) return found
      await new Promise(resolve => { this.onpending = () => resolve(undefined) })
    }
  }

  /** What FILE.meta says. */
  get metadata () {
    return linesOf(this.metadataVersions.at(-1) ?? null)?.metadata
  }

  /** @returns {any} the file as `createLog` takes it */
  logFile () {
    const read = (offset, size, cb) => setImmediate(() => {
      const data = Buffer.from(this.bytes.subarray(offset, offset + size))
      if (data.length < size) cb(Object.assign(new Error('EPARTIALREAD'), { code: 'EPARTIALREAD' }))
      else cb(null, data)
    })
    const write = (offset, data, cb) => {
      const kept = Buffer.from(data)
      this.operation('write', () => {
        const bytes = Buffer.alloc(Math.max(this.bytes.length, offset + kept.length))
        this.bytes.copy(bytes)
        kept.copy(bytes, offset)
        this.bytes = bytes
      }, cb)
    }
    return {
      filename: 'log',
      open: (cb) => setImmediate(cb, null),
      size: (cb) => setImmediate(() => cb(null, this.bytes.length)),
      read,
      readSmall: (offset, size, isShared, cb) => read(offset, size, cb),
      readMany: readEach(read),
      write,
      writeMany: writeJoined(write),
      truncate: (length, cb) => this.operation('truncate', () => { this.bytes = Buffer.from(this.bytes.subarray(0, length)) }, cb),
      punch: (offset, length, cb) => write(offset, Buffer.alloc(length), cb),
      canPunch: () => false,
      allocated: () => null,
      sync: (cb) => {
        // covers what was written before the call
        const { bytes } = this
        this.operation('sync', () => { this.durable = bytes }, cb)
      },
      close: (cb) => {
        this.isClosed = true
        setImmediate(cb, null)
      },
      location: NOWHERE,
      status: () => statusOf(this.bytes),
      checkPath: (cb) => cb(null),
      metadata: new SimulatedMetadata({
        versions: this.metadataVersions,
        pageSize: 4096,
        start: (kind, cb, apply) => {
          /** @type {any} */
          let result
          this.operation(kind, () => { result = apply() }, (err) => cb(err, result))
        },
        runNow: (kind, apply) => {
          this.counts[kind] = (this.counts[kind] ?? 0) + 1
          apply()
        },
        hasRoom: () => true,
        published: () => {}
      }),
      keepCut: (offset, end, cb) => setImmediate(cb, null, null),
      watch: noWatch
    }
  }
}

module.exports = { HeldFile }
