'use strict'

// The file of a log whose operations a test counts, has fail, or holds back, by kind: read, write, truncate, punch, sync, and those of FILE.meta,
// metadata.append, metadata.sync and metadata.replace.

const fs = require('fs')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { sizeOf } = require('../../lib/storage/buffers')
const { parseMetadata } = require('../../lib/storage/metadata-text')
const { pathFile } = require('../../lib/storage/path-file')
const { newFile } = require('./folder')
const { promises } = require('./promises')

class ControlledFile {
  /** @param {string} [name] its path */
  constructor (name = newFile()) {
    this.name = name
    /** How often each kind was asked for. @type {Record<string, number>} */
    this.counts = {}
    /** What was to be read. @type {Array<{ offset: number, size: number }>} */
    this.reads = []
    /** Bytes of each write. @type {number[]} */
    this.writes = []
    /** A read or write is held, or fails, only if this is so of it. @type {(call: { offset: number, size: number }) => boolean} */
    this.isMeant = () => true
    /** How many of the next operations of each kind succeed before one fails; none does if there is no number. @type {Record<string, number>} */
    this.left = {}
    /** The code of the error. */
    this.code = 'EIO'
    /** Kinds of which all operations fail. */
    this.failing = new Set()
    /** Kinds of operations that are pending until the test lets them finish. */
    this.held = new Set()
    /** Those, in the order in which they were asked for. @type {Array<{ kind: string, finish: (err?: Error) => void }>} */
    this.pending = []
    /** What was in the file when the last fsync that has succeeded was called. */
    this.durable = Buffer.alloc(0)
    this.onpending = () => {}
    /** Called after each operation. @type {(kind: string) => void} */
    this.ondone = () => {}
  }

  /**
   * Of a disk on which a write that does not fit fails.
   * @param {number} capacity in bytes
   */
  static withRoomFor (capacity) {
    const file = new ControlledFile()
    file.failing.add('write')
    return Object.assign(file, { code: 'ENOSPC', isMeant: ({ offset, size }) => offset + size > capacity })
  }

  /**
   * The n-th of the next operations of a kind fails.
   * @param {string} kind
   * @param {number} [n]
   */
  fail (kind, n = 1) {
    this.left[kind] = n - 1
  }

  /**
   * @param {string} kind
   * @param {{ offset: number, size: number }} [call]
   * @returns {Error | null} why it fails
   */
  start (kind, call) {
    this.counts[kind] = (this.counts[kind] ?? 0) + 1
    if (call !== undefined && !this.isMeant(call)) return null
    const isNext = this.left[kind] === 0
    if (this.left[kind] !== undefined && --this.left[kind] < 0) delete this.left[kind]
    return isNext || this.failing.has(kind) ? Object.assign(new Error(`${this.code}: made to fail, ${kind}`), { code: this.code }) : null
  }

  /**
   * @param {string} kind
   * @param {(cb: (err: Error | null, ...results: any[]) => void) => void} run
   * @param {(err: Error | null, ...results: any[]) => void} cb
   * @param {{ offset: number, size: number }} [call]
   */
  operation (kind, run, cb, call = undefined) {
    const failure = this.start(kind, call)
    if (failure !== null) return setImmediate(cb, failure)
    const done = (err, ...results) => {
      cb(err, ...results)
      this.ondone(kind)
    }
    if (!this.held.has(kind) || (call !== undefined && !this.isMeant(call))) return run(done)
    const finish = (/** @type {Error | undefined} */ err) => {
      this.pending = this.pending.filter(one => one.finish !== finish)
      if (err) cb(err)
      else run(done)
    }
    this.pending.push({ kind, finish })
    this.onpending()
  }

  /**
   * @param {string} kind
   * @returns {Promise<{ kind: string, finish: (err?: Error) => void }>} when one of the kind is pending
   */
  async next (kind) {
    for (;;) {
      const found = this.pending.find(one => one.kind === kind)
      if (found !== undefined) return found
      await new Promise(resolve => { this.onpending = () => resolve(undefined) })
    }
  }

  /** Lets all of a kind finish. @param {string} kind */
  release (kind) {
    this.held.delete(kind)
    for (const one of this.pending) if (one.kind === kind) one.finish()
  }

  /**
   * @param {import('../../lib/options').Settings} settings
   * @returns {import('../../lib/storage/path-file').LogFile}
   */
  logFile (settings) {
    const file = pathFile(this.name, settings)
    const plain = { ...file }
    this.controlMetadata(file.metadata)
    const reading = (offset, size, run, cb) => {
      this.reads.push({ offset, size })
      this.operation('read', run, cb, { offset, size })
    }
    const writing = (offset, size, run, cb) => {
      this.writes.push(size)
      this.operation('write', run, cb, { offset, size })
    }
    return Object.assign(file, {
      read: (offset, size, cb) => reading(offset, size, done => plain.read(offset, size, done), cb),
      readSmall: (offset, size, isShared, cb) => reading(offset, size, done => plain.readSmall(offset, size, isShared, done), cb),
      readMany: (offset, sizes, into, cb) => reading(offset, sizes.reduce((sum, size) => sum + size, 0), done => plain.readMany(offset, sizes, into, done), cb),
      write: (offset, data, cb) => writing(offset, data.length, done => plain.write(offset, data, done), cb),
      writeMany: (offset, buffers, cb) => writing(offset, sizeOf(buffers), done => plain.writeMany(offset, buffers, done), cb),
      truncate: (length, cb) => this.operation('truncate', done => plain.truncate(length, done), cb),
      punch: (offset, length, cb) => this.operation('punch', done => plain.punch(offset, length, done), cb),
      sync: (cb) => {
        // covers what was written before the call
        const covered = this.bytes
        this.operation('sync', done => plain.sync((err) => {
          if (!err) this.durable = covered
          done(err)
        }), cb)
      }
    })
  }

  /** @param {import('../../lib/storage/metadata-file').MetadataFile} metadata */
  controlMetadata (metadata) {
    const { append, replace, sync, syncName } = metadata
    const throwIf = (kind) => {
      const failure = this.start(kind)
      if (failure !== null) throw failure
    }
    metadata.append = (...args) => {
      throwIf('metadata.append')
      append.apply(metadata, args)
    }
    metadata.replace = async (next) => {
      throwIf('metadata.replace')
      await replace.call(metadata, next)
    }
    metadata.sync = async () => {
      const failure = this.start('metadata.sync')
      // its last step
      if (failure !== null) metadata.syncName = async () => { throw failure }
      await sync.call(metadata).finally(() => { metadata.syncName = syncName })
    }
  }

  /**
   * @param {object} [options] of the log
   * @param {import('../../lib/clock').Clock} [clock]
   */
  open (options = {}, clock = undefined) {
    const settings = settingsOf(options)
    return promises(createLog(this.logFile(settings), settings, clock))
  }

  /** @returns {ControlledFile} what is left if the process is killed now */
  afterKill () {
    const name = newFile()
    for (const end of ['', '.meta']) if (fs.existsSync(this.name + end)) fs.copyFileSync(this.name + end, name + end)
    return new ControlledFile(name)
  }

  get bytes () {
    return fs.readFileSync(this.name)
  }

  /** What FILE.meta says. */
  get metadata () {
    return parseMetadata(fs.readFileSync(`${this.name}.meta`, 'latin1'))?.metadata
  }
}

module.exports = { ControlledFile }
