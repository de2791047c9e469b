'use strict'

// The digest that an import compares: the CRC-32 of all records in order, each between its lengths, as in the log. Of a large record, these
// are the lower 16 bits of its length.

const { crc32, layout } = require('flumelog-random-access-file/blocks')

/** Bytes of records that are gathered before the next checksum: one for each record would take longer than the rest. */
const GATHERED_SIZE = 128 * 1024

class Digest {
  constructor () {
    this.checksum = 0
    this.gathered = Buffer.allocUnsafeSlow(GATHERED_SIZE)
    this.used = 0
  }

  /** @param {Buffer} data of a record */
  add (data) {
    const { length } = data
    if (this.used + length + layout.FRAME_SIZE > GATHERED_SIZE) this.flush()
    if (length + layout.FRAME_SIZE <= GATHERED_SIZE) {
      this.used = layout.writeRecord(this.gathered, this.used, data)
      return
    }
    const lengths = Buffer.of(length, length >>> 8)
    for (const part of [lengths, data, lengths]) this.checksum = crc32(part, this.checksum)
  }

  flush () {
    this.checksum = crc32(this.gathered.subarray(0, this.used), this.checksum)
    this.used = 0
  }

  /** @returns {number} of all records that were added */
  value () {
    this.flush()
    return this.checksum
  }
}

module.exports = { Digest }
