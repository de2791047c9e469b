'use strict'

// Records as bytes and back, with the checks that a log in a file has, so that records can go from one to the other.

const { RecordCodec } = require('flumelog-random-access-file/parts')
const errors = require('./errors')

class StreamRecordCodec extends RecordCodec {
  /**
   * @param {import('flumelog-random-access-file').Codec<any>} codec
   * @param {string} label of the log, for errors
   */
  constructor (codec, label) {
    super(/** @type {any} */ ({ codec, validate: undefined, checksum: false, large: false }), label, 0)
    this.label = label
  }

  /**
   * How large a record may be is known once the log is open.
   * @param {Uint8Array} data
   */
  fitting (data) {
    return data
  }

  /**
   * @param {Buffer | string} data
   * @param {number} seq
   * @throws flumelog:corrupt
   */
  decode (data, seq) {
    try {
      return this.codec.decode(data)
    } catch (cause) {
      throw errors.undecodable(this.label, seq, cause)
    }
  }

  /**
   * @param {Buffer} data as it is stored
   * @param {number} seq
   * @throws flumelog:corrupt
   */
  valueOf (data, seq) {
    return this.isIdentity ? data : this.decode(this.takesText ? data.toString() : data, seq)
  }
}

module.exports = { StreamRecordCodec }
