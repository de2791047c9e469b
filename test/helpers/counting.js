'use strict'

// A storage in memory that records reads.

const RAM = require('random-access-memory')

class CountingStorage extends RAM {
  constructor (options) {
    super(options)
    this.forget()
  }

  forget () {
    /** offsets and sizes of reads, in order @type {Array<{ offset: number, size: number }>} */
    this.reads = []
  }

  _read (req) {
    this.reads.push({ offset: req.offset, size: req.size })
    super._read(req)
  }
}

/**
 * @param {Buffer} bytes
 * @returns {CountingStorage} that holds them
 */
function countingStorage (bytes) {
  return new CountingStorage(bytes.length === 0 ? undefined : bytes)
}

module.exports = { countingStorage }
