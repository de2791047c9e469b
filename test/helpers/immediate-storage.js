'use strict'

// A storage in memory that answers every call at once, before the call returns.

class ImmediateStorage {
  /** @param {Buffer} [bytes] */
  constructor (bytes = Buffer.alloc(0)) {
    this.bytes = bytes
  }

  open (cb) {
    cb(null)
  }

  read (offset, size, cb) {
    if (offset + size > this.bytes.length) return cb(new Error('EPARTIALREAD: the storage ends before that'))
    cb(null, Buffer.from(this.bytes.subarray(offset, offset + size)))
  }

  write (offset, data, cb) {
    const end = offset + data.length
    if (end > this.bytes.length) this.bytes = Buffer.concat([this.bytes, Buffer.alloc(end - this.bytes.length)])
    data.copy(this.bytes, offset)
    cb(null)
  }

  truncate (offset, cb) {
    this.bytes = this.bytes.subarray(0, offset)
    cb(null)
  }

  stat (cb) {
    cb(null, { size: this.bytes.length })
  }

  close (cb) {
    cb(null)
  }
}

module.exports = { ImmediateStorage }
