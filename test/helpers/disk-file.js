'use strict'

// A file on a simulated disk: every version of each page, and of the length, since
// the last fsync. After a power cut each comes back as one of its versions.

/** Bytes that are stored together; where nothing was written, nothing is stored. */
const CHUNK = 4096
/** Bytes that are allocated together: a buffer of its own for each page would keep the garbage collector busy. */
const SLAB = 64 * CHUNK
let slab = Buffer.alloc(0)

/**
 * @param {number} size
 * @returns {Buffer} zeros
 */
function allocate (size) {
  if (slab.length < size) slab = Buffer.alloc(Math.max(SLAB, size))
  const bytes = slab.subarray(0, size)
  slab = slab.subarray(size)
  return bytes
}

class DiskFile {
  constructor () {
    this.length = 0
    /** Number -> bytes. @type {Map<number, Buffer>} */
    this.chunks = new Map()
    /** how often the file was changed */
    this.version = 0
    /** page number -> what it was since the last sync, the synced one first, each with its version */
    this.pages = new Map()
    this.lengths = [{ version: 0, value: 0 }]
    /** Pages that a failed fsync has marked as clean, each with the version until then: no fsync writes them until they are changed. @type {Map<number, number>} */
    this.unwritten = new Map()
    /** Appended bytes up to here were in the file when an fsync that has succeeded was called. */
    this.syncedLength = 0
    /** An fsync has failed: what it has not made durable, none does. */
    this.isBroken = false
  }

  /** All of it. */
  get bytes () {
    return this.read(0, this.length)
  }

  /** @returns {Buffer} a copy of what is there; shorter at the end */
  read (offset, size) {
    const end = Math.min(this.length, offset + size)
    const bytes = Buffer.alloc(Math.max(0, end - offset))
    this.copyTo(bytes, offset, end)
    return bytes
  }

  /**
   * @param {number} offset
   * @param {Uint8Array} bytes
   * @returns {number} of them are filled
   */
  readInto (offset, bytes) {
    const size = Math.max(0, Math.min(this.length - offset, bytes.length))
    const end = offset + size
    for (let number = Math.floor(offset / CHUNK); number * CHUNK < end; number++) {
      const start = number * CHUNK
      const chunk = this.chunks.get(number)
      if (chunk === undefined) bytes.fill(0, Math.max(0, start - offset), Math.min(size, start + CHUNK - offset))
      else chunk.copy(bytes, Math.max(0, start - offset), Math.max(0, offset - start), Math.min(CHUNK, end - start))
    }
    return size
  }

  copyTo (bytes, offset, end) {
    for (let number = Math.floor(offset / CHUNK); number * CHUNK < end; number++) {
      const start = number * CHUNK
      this.chunks.get(number)?.copy(bytes, Math.max(0, start - offset), Math.max(0, offset - start), Math.min(CHUNK, end - start))
    }
  }

  put (offset, data) {
    const end = offset + data.length
    for (let at = offset; at < end;) {
      const number = Math.floor(at / CHUNK)
      let chunk = this.chunks.get(number)
      if (chunk === undefined) this.chunks.set(number, chunk = allocate(CHUNK))
      at += data.copy(chunk, at - number * CHUNK, at - offset)
    }
  }

  page (number, pageSize) {
    const page = allocate(pageSize)
    this.copyTo(page, number * pageSize, Math.min(this.length, (number + 1) * pageSize))
    return page
  }

  change (offset, end, pageSize, apply) {
    const first = Math.floor(offset / pageSize)
    const last = Math.floor(Math.max(offset, end - 1) / pageSize)
    for (let number = first; number <= last; number++) {
      if (!this.pages.has(number)) this.pages.set(number, [{ version: this.version, value: this.page(number, pageSize) }])
    }
    apply()
    const version = ++this.version
    for (let number = first; number <= last; number++) this.pages.get(number).push({ version, value: this.page(number, pageSize) })
    this.lengths.push({ version, value: this.length })
  }

  write (offset, data, pageSize) {
    this.change(offset, offset + data.length, pageSize, () => {
      this.length = Math.max(this.length, offset + data.length)
      this.put(offset, data)
    })
  }

  truncate (length, pageSize) {
    this.change(length, this.length, pageSize, () => this.resize(length))
    this.syncedLength = Math.min(this.syncedLength, length)
  }

  /** What is new is zeros. */
  resize (length) {
    const last = Math.floor(length / CHUNK)
    for (const number of this.chunks.keys()) if (number > last) this.chunks.delete(number)
    this.chunks.get(last)?.fill(0, length - last * CHUNK)
    this.length = length
  }

  /** @returns {{ version: number, length: number }} what an fsync that is called now covers */
  state () {
    return { version: this.version, length: this.length }
  }

  /** @param {{ version: number, length: number }} covered */
  sync ({ version, length }) {
    this.lengths = since(this.lengths, version)
    for (const [number, versions] of this.pages) {
      const left = since(versions, version)
      if (left[0].version <= (this.unwritten.get(number) ?? -1)) continue
      this.unwritten.delete(number)
      if (left.length === 1) this.pages.delete(number)
      else this.pages.set(number, left)
    }
    this.syncedLength = Math.max(this.syncedLength, Math.min(length, this.length))
  }

  /**
   * An fsync has failed. As on Linux, the pages that it was to write count as written from now on.
   * @param {{ version: number }} covered
   */
  failSync ({ version }) {
    for (const [number, versions] of this.pages) {
      const last = versions.findLast(one => one.version <= version)
      if (last !== undefined && last !== versions[0]) this.unwritten.set(number, last.version)
    }
  }

  /** @returns {DiskFile} that changes by itself from now on */
  copy () {
    const copy = new DiskFile()
    copy.length = this.length
    copy.chunks = new Map([...this.chunks].map(([number, chunk]) => [number, copied(chunk)]))
    copy.version = this.version
    copy.pages = new Map([...this.pages].map(([number, versions]) => [number, [...versions]]))
    copy.lengths = [...this.lengths]
    copy.unwritten = new Map(this.unwritten)
    copy.syncedLength = this.syncedLength
    copy.isBroken = this.isBroken
    return copy
  }

  /** @returns {DiskFile} what the disk holds after the power was gone */
  afterPowerLoss (random, pageSize) {
    const { length } = this
    const left = new DiskFile()
    left.chunks = this.copy().chunks
    const kept = random.pick(this.lengths).value
    const longest = Math.ceil(Math.max(kept, length) / pageSize) * pageSize
    for (const [number, versions] of this.pages) {
      if (number * pageSize < longest) left.put(number * pageSize, random.pick(versions).value)
    }
    left.resize(kept)
    left.lengths = [{ version: 0, value: kept }]
    left.syncedLength = kept
    return left
  }
}

/** @param {Buffer} chunk */
function copied (chunk) {
  const copy = allocate(CHUNK)
  copy.set(chunk)
  return copy
}

/** The last that is not newer than `version`, and all after it. */
function since (versions, version) {
  return versions.slice(Math.max(0, versions.findLastIndex(one => one.version <= version)))
}

module.exports = { DiskFile }
