'use strict'

// A file of a log, which may have a name, several, or none any more.
//
// A log that was compacted has its first block, then nothing up to the offsets that it had not used before, which may be many gigabytes: see
// "Compacting" in docs/architecture.md. Files of OPFS have no holes, and a quota counts their sizes. So a file can have one gap, which is not
// stored: bytes behind it are stored that much further in front. Where it is, the table of the names says.

const { failure } = require('./errors')

/** Bytes behind the end of a file from which on a write leaves a gap. */
const MIN_GAP = 256 * 1024
const PAGE_SIZE = 4096

/** @typedef {import('./volume').SyncHandle} SyncHandle */

let inodes = 0

class Inode {
  /**
   * @param {number} number its name in the directory
   * @param {SyncHandle | null} handle null: it is being opened
   * @param {import('./volume').Volume} volume
   * @param {number} [gapStart]
   * @param {number} [gapLength] 0: there is no gap
   */
  constructor (number, handle, volume, gapStart = 0, gapLength = 0) {
    this.number = number
    this.handle = /** @type {SyncHandle} */ (handle)
    this.volume = volume
    this.gapStart = gapStart
    this.gapLength = gapLength
    /** Bytes that are stored, if nobody else has the file open. */
    this.known = volume.isShared ? 0 : this.handle.getSize()
    /** Another one for each file of this worker; the same for all workers that share the log. */
    this.id = volume.isShared ? number : ++inodes
    this.names = 0
    this.opens = 0
    /** Bytes at its start that are not written yet; null: there are none. @type {Uint8Array | null} */
    this.unwritten = null
    /** Open files that have it locked, and whether others may have it, too. @type {Map<object, boolean>} */
    this.locks = new Map()
    /** Of a shared log: settled when it is open, or cannot be opened. @type {Promise<void>} */
    this.ready = Promise.resolve()
    /** Of a shared log: why it cannot be opened. @type {unknown} */
    this.problem = null
    /** Releases the Web Lock of this file; null: this worker has none. @type {(() => void) | null} */
    this.unlock = null
  }

  /** Bytes that are stored. */
  get stored () {
    return this.volume.isShared ? this.handle?.getSize() ?? 0 : this.known
  }

  /** In bytes, with the gap. */
  get size () {
    this.volume.refresh()
    const { stored } = this
    return stored > this.gapStart ? stored + this.gapLength : stored
  }

  /** What the table says of it. */
  get entry () {
    return this.gapLength === 0 ? [this.number] : [this.number, this.gapStart, this.gapLength]
  }

  /** Removes the file when nothing leads to it any more. */
  considerRemoving () {
    if (this.names === 0 && this.opens === 0) this.volume.remove(this)
  }

  /**
   * @param {Uint8Array} bytes
   * @param {number} position
   * @returns {number} bytes read: fewer at the end of the file
   */
  read (bytes, position) {
    this.volume.refresh()
    this.writeUnwritten()
    if (this.gapLength === 0) return this.handle.read(bytes, { at: position })
    return this.eachPart(bytes, position, (part, at) => {
      if (at !== -1) return this.handle.read(part, { at })
      const length = Math.min(part.length, Math.max(0, this.size - position))
      part.fill(0, 0, length)
      return length
    })
  }

  /**
   * @param {Uint8Array} bytes
   * @param {number} position
   * @returns {number} bytes written
   */
  write (bytes, position) {
    if (this.gapLength === 0) {
      if (position - this.stored < MIN_GAP) return this.store(bytes, position)
      this.setGap(this.stored, Math.floor(position / PAGE_SIZE) * PAGE_SIZE - this.stored)
    }
    return this.eachPart(bytes, position, (part, at) => {
      if (at !== -1) return this.store(part, at)
      // the log writes nothing there but zeros
      if (part.some(byte => byte !== 0)) throw failure('EIO', 'write')
      return part.length
    })
  }

  /**
   * Changes bytes at the start of the file that it has already. They are written before anything else is done with the file; if the worker is
   * terminated before that, they are as they were.
   * @param {Uint8Array} bytes
   * @returns {number} bytes written
   */
  writeLater (bytes) {
    this.unwritten = new Uint8Array(bytes)
    return bytes.length
  }

  writeUnwritten () {
    const { unwritten } = this
    if (unwritten === null) return
    this.unwritten = null
    try {
      this.handle.write(unwritten, { at: 0 })
    } catch {
      // they are as they were
    }
  }

  /**
   * @param {Uint8Array} bytes
   * @param {number} at
   */
  store (bytes, at) {
    this.writeUnwritten()
    const written = this.handle.write(bytes, { at })
    this.known = Math.max(this.known, at + written)
    return written
  }

  /**
   * Of those in front of the gap, in it and behind it, as long as all of each part is done.
   * @param {Uint8Array} bytes
   * @param {number} position
   * @param {(part: Uint8Array, at: number) => number} run given where the part is stored; -1: in the gap. Returns the number of bytes that are done
   */
  eachPart (bytes, position, run) {
    const { gapStart, gapLength } = this
    const gapEnd = gapStart + gapLength
    let done = 0
    while (done < bytes.length) {
      const from = position + done
      const end = from < gapStart ? gapStart : from < gapEnd ? gapEnd : Infinity
      const part = bytes.subarray(done, Math.min(bytes.length, done + end - from))
      const count = run(part, from < gapStart ? from : from < gapEnd ? -1 : from - gapLength)
      done += count
      if (count < part.length) break
    }
    return done
  }

  /** @param {number} size */
  truncate (size) {
    const { gapStart, gapLength } = this
    if (gapLength > 0 && size < gapStart + gapLength) {
      this.resize(Math.min(gapStart, size))
      this.setGap(0, 0)
    }
    this.resize(size - this.gapLength)
  }

  /** @param {number} stored */
  resize (stored) {
    this.writeUnwritten()
    this.handle.truncate(stored)
    this.known = stored
  }

  /**
   * @param {number} start
   * @param {number} length
   */
  setGap (start, length) {
    const { gapStart, gapLength } = this
    this.gapStart = start
    this.gapLength = length
    try {
      this.volume.writeTable(this.volume.inodes)
    } catch (err) {
      Object.assign(this, { gapStart, gapLength })
      throw err
    }
  }

  /** Makes durable what was written, and where it is. */
  sync () {
    this.writeUnwritten()
    this.volume.sync()
    this.handle.flush()
  }
}

module.exports = { Inode }
