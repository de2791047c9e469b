'use strict'

// Records as bytes and back: the codec that the log was opened with, and the checks that
// every record has to pass before it is accepted.

const layout = require('./format/layout')
const errors = require('./errors')
const { format, IDENTITY } = require('./options')

class RecordCodec {
  /**
   * @param {import('./options').Settings} settings
   * @param {string | null} filename for messages
   * @param {number} blockSize in bytes; changes when another one is found in the file
   */
  constructor ({ codec, validate, checksum }, filename, blockSize) {
    this.codec = codec
    this.validate = validate
    this.checksum = checksum
    this.filename = filename
    this.blockSize = blockSize
    /** Whether records are returned as they are stored. */
    this.isIdentity = codec === IDENTITY
    /** Whether what the codec decodes is known to share no memory with its text. */
    this.keepsNoText = codec.decode === JSON.parse
    /** Whether the codec decodes text. JSON.parse makes text of a Buffer first, which takes longer. */
    this.takesText = codec.buffer === false || this.keepsNoText
    /** Bytes that the last call of `encode`, `encodeBatch` or `encodeEarly` encoded, whether it succeeded or not. */
    this.encodedBytes = 0
    this.decode = this.decode.bind(this)
    this.isWhole = this.isWhole.bind(this)
  }

  /**
   * @param {any} value
   * @returns {Uint8Array} a record's bytes, to be packed before anything else is encoded
   * @throws flumelog:invalid, flumelog:too-large
   */
  encode (value) {
    this.encodedBytes = 0
    return this.fitting(this.checked(this.encoded(value)))
  }

  /**
   * @param {any[]} values each is encoded once, even if one before it is refused
   * @returns {Uint8Array[]}
   * @throws the error of the first one that is refused
   */
  encodeBatch (values) {
    return this.each(values, (value) => {
      const data = this.encoded(value)
      // the codec may use its buffer again for the next one
      return this.fitting(this.checked(data instanceof Uint8Array && data !== value ? Buffer.from(data) : data))
    })
  }

  /**
   * For records that are stored when the log is open: until then the caller may change its own bytes.
   * @param {any[]} values as for encodeBatch
   * @returns {Uint8Array[]} which may turn out not to fit a block
   */
  encodeEarly (values) {
    return this.each(values, (value) => {
      const data = this.encoded(value)
      return this.checked(data instanceof Uint8Array ? Buffer.from(data) : data)
    })
  }

  /**
   * @param {any[]} values
   * @param {(value: any) => Uint8Array} encode
   */
  each (values, encode) {
    this.encodedBytes = 0
    /** @type {{ error: unknown } | null} */
    let refused = null
    const batch = Array.from(values, (value) => {
      try {
        return encode(value)
      } catch (error) {
        refused ??= { error }
        return NOTHING
      }
    })
    if (refused !== null) throw /** @type {{ error: unknown }} */ (refused).error
    return batch
  }

  /**
   * @param {any} value
   * @returns {unknown} what the codec makes of it
   */
  encoded (value) {
    let data
    try {
      data = this.codec.encode(value)
    } catch (err) {
      throw errors.invalid(`the codec cannot encode the record: ${/** @type {Error} */ (err)?.message ?? err}`, err)
    }
    if (typeof data === 'string') data = Buffer.from(data)
    if (data instanceof Uint8Array) this.encodedBytes += data.length
    return data
  }

  /**
   * @param {unknown} data
   * @returns {Uint8Array} the same
   */
  checked (data) {
    if (!(data instanceof Uint8Array)) {
      throw errors.invalid(`a record must be a Buffer, a Uint8Array or a string, or the codec must make one of it; it is ${format(data)}`)
    }
    if (data.length === 0) throw errors.invalid('a record must have at least one byte')
    if (!layout.isStorable(data)) {
      throw errors.invalid('a record that is all zeros cannot be stored: it would look deleted')
    }
    return data
  }

  /**
   * @param {Uint8Array} data
   * @returns {Uint8Array} the same
   */
  fitting (data) {
    const most = layout.maxRecordSize(this.blockSize, this.checksum)
    if (data.length > most) throw errors.tooLarge(data.length, most, this.blockSize)
    return data
  }

  /**
   * @param {Uint8Array[]} batch
   * @returns {Uint8Array[]} the same; together they fit one block
   */
  fittingTogether (batch) {
    const bytes = batch.reduce((sum, data) => sum + data.length + layout.FRAME_SIZE, -layout.FRAME_SIZE)
    const most = layout.maxRecordSize(this.blockSize, this.checksum)
    if (bytes > most) throw errors.tooLargeTogether(bytes, most, this.blockSize)
    return batch
  }

  /**
   * @param {Buffer | string} data a string if the codec takes text
   * @param {number} seq for the error
   * @throws flumelog:corrupt
   */
  decode (data, seq) {
    try {
      return this.codec.decode(data)
    } catch (cause) {
      const { blockSize, filename } = this
      const position = seq % blockSize
      throw errors.corrupt(filename, (seq - position) / blockSize, blockSize, position, 'the codec cannot decode the record', cause)
    }
  }

  /**
   * @param {Buffer} data
   * @returns {boolean} whether a record is what was once appended, as far as can be told
   */
  isWhole (data) {
    try {
      this.decode(this.takesText ? layout.text(data, 0, data.length) : data, 0)
      return this.validate === undefined || this.validate(data) !== false
    } catch {
      return false
    }
  }
}

/** Stands for a record that was refused. */
const NOTHING = new Uint8Array(0)

module.exports = { RecordCodec }
