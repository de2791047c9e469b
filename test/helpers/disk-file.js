'use strict'

// A file on a simulated disk: every version of each page, and of the length, since
// the last fsync. After a power cut each comes back as one of its versions.

class DiskFile {
  constructor (bytes = Buffer.alloc(0)) {
    this.bytes = bytes
    /** the bytes, and zeros behind them */
    this.room = bytes
    /** how often the file was changed */
    this.version = 0
    /** page number -> what it was since the last sync, the synced one first, each with its version */
    this.pages = new Map()
    this.lengths = [{ version: 0, value: bytes.length }]
    /** Appended bytes up to here were in the file when an fsync that has succeeded was called. */
    this.syncedLength = bytes.length
    /** An fsync has failed: what it has not made durable, none does. */
    this.isBroken = false
  }

  page (number, pageSize) {
    const page = Buffer.alloc(pageSize)
    this.bytes.subarray(number * pageSize, (number + 1) * pageSize).copy(page)
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
    this.lengths.push({ version, value: this.bytes.length })
  }

  write (offset, data, pageSize) {
    this.change(offset, offset + data.length, pageSize, () => {
      this.resize(Math.max(this.bytes.length, offset + data.length))
      data.copy(this.bytes, offset)
    })
  }

  truncate (length, pageSize) {
    this.change(length, this.bytes.length, pageSize, () => {
      this.resize(length)
    })
    this.syncedLength = Math.min(this.syncedLength, length)
  }

  /** What is new is zeros. */
  resize (length) {
    const before = this.bytes.length
    if (length > this.room.length) {
      this.room = Buffer.alloc(length * 2)
      this.bytes.copy(this.room)
    } else if (length < before) this.room.fill(0, length, before)
    this.bytes = this.room.subarray(0, length)
  }

  /** @returns {{ version: number, length: number }} what an fsync that is called now covers */
  state () {
    return { version: this.version, length: this.bytes.length }
  }

  /** @param {{ version: number, length: number }} covered */
  sync ({ version, length }) {
    this.lengths = since(this.lengths, version)
    for (const [number, versions] of this.pages) {
      const left = since(versions, version)
      if (left.length === 1) this.pages.delete(number)
      else this.pages.set(number, left)
    }
    this.syncedLength = Math.max(this.syncedLength, Math.min(length, this.bytes.length))
  }

  /**
   * @param {number} offset
   * @param {Buffer} data
   * @param {number} pageSize
   * @returns {boolean} whether these bytes are there after a power cut, whatever versions it leaves
   */
  isDurable (offset, data, pageSize) {
    const end = offset + data.length
    if (this.lengths.some(({ value }) => value < end)) return false
    for (let number = Math.floor(offset / pageSize); number * pageSize < end; number++) {
      const from = Math.max(offset, number * pageSize)
      const to = Math.min(end, (number + 1) * pageSize)
      const wanted = data.subarray(from - offset, to - offset)
      const versions = this.pages.get(number)
      const holds = ({ value }) => value.subarray(from - number * pageSize, to - number * pageSize).equals(wanted)
      if (versions === undefined ? !this.bytes.subarray(from, to).equals(wanted) : !versions.every(holds)) return false
    }
    return true
  }

  /** @returns {DiskFile} that changes by itself from now on */
  copy () {
    const copy = new DiskFile(Buffer.from(this.bytes))
    copy.version = this.version
    copy.pages = new Map([...this.pages].map(([number, versions]) => [number, [...versions]]))
    copy.lengths = [...this.lengths]
    copy.syncedLength = this.syncedLength
    copy.isBroken = this.isBroken
    return copy
  }

  /** What the disk holds after the power was gone. */
  afterPowerLoss (random, pageSize) {
    const length = random.pick(this.lengths).value
    const longest = Math.max(length, this.bytes.length)
    const bytes = Buffer.alloc(Math.ceil(longest / pageSize) * pageSize)
    this.bytes.copy(bytes)
    for (const [number, versions] of this.pages) {
      if (number * pageSize < bytes.length) random.pick(versions).value.copy(bytes, number * pageSize)
    }
    return Buffer.from(bytes.subarray(0, length))
  }
}

/** The last that is not newer than `version`, and all after it. */
function since (versions, version) {
  return versions.slice(Math.max(0, versions.findLastIndex(one => one.version <= version)))
}

module.exports = { DiskFile }
