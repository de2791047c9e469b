'use strict'

// Records as bytes and back: the codec that the log was opened with, and the checks that
// every record has to pass before it is accepted.

const { isUint8Array } = require('util').types
const layout = require('./format/layout')
const chunk = require('./format/chunk')
const errors = require('./errors')
const { format } = require('./format-value')
const { IDENTITY } = require('./options')

class RecordCodec {
  /**
   * @param {import('./options').Settings} settings
   * @param {string} filename for messages
   * @param {number} blockSize in bytes; changes when another one is found in the file
   */
  constructor ({ codec, validate, checksum, large }, filename, blockSize) {
    this.codec = codec
    this.validate = validate
    this.checksum = checksum
    this.large = large
    this.filename = filename
    this.blockSize = blockSize
    /** Whether records are returned as they are stored. */
    this.isIdentity = codec === IDENTITY
    /** Whether what the codec decodes is known to share no memory with its text. */
    this.keepsNoText = codec.decode === JSON.parse
    /** Whether the codec decodes text. JSON.parse makes text of a Buffer first, which takes longer. */
    this.takesText = codec.buffer === false || this.keepsNoText
    this.decode = this.decode.bind(this)
    this.isWhole = this.isWhole.bind(this)
  }

  /**
   * @param {any} value
   * @returns {Uint8Array} a record's bytes, to be packed before anything else is encoded
   * @throws flumelog:invalid, flumelog:too-large
   */
  encode (value) {
    return this.fitting(this.checked(this.encoded(value)))
  }

  /**
   * The same, but strings that are sure to be records are left to the packer.
   * @param {any} value
   * @returns {Uint8Array | string}
   * @throws flumelog:invalid, flumelog:too-large
   */
  encodeText (value) {
    const data = this.encoded(value)
    return typeof data === 'string' && this.isSurelyStorable(data) ? data : this.fitting(this.checked(data))
  }

  /** @param {string} text */
  isSurelyStorable (text) {
    return text.length > 0 && text.charCodeAt(0) !== 0 && text.length * layout.MAX_UTF8 <= layout.maxRecordSize(this.blockSize, this.checksum)
  }

  /**
   * @param {any[]} values
   * @param {boolean} [isStored] whether they are records as they are stored: one of zeros is a deleted record
   * @returns {Uint8Array[]}
   * @throws the error of the first one that is refused
   */
  encodeBatch (values, isStored = false) {
    const batch = []
    // `map` would skip what an array does not have
    for (let index = 0; index < values.length; index++) {
      try {
        const data = isStored ? values[index] : this.encoded(values[index])
        const bytes = isStored ? this.fittingStored(this.checkedBytes(data)) : this.fitting(this.checked(data))
        // the codec may use its buffer again for the next one
        batch.push(data === values[index] || typeof data === 'string' ? bytes : Buffer.from(bytes))
      } catch (err) {
        throw errors.refusedArray(err, index, values.length)
      }
    }
    return batch
  }

  /**
   * @param {any} value
   * @returns {unknown} what the codec makes of it
   */
  encoded (value) {
    try {
      return this.codec.encode(value)
    } catch (err) {
      throw errors.refusedRecord(this.filename, `the codec cannot encode the record: ${/** @type {Error} */ (err)?.message ?? err}`, err)
    }
  }

  /**
   * @param {unknown} data
   * @returns {Uint8Array} the same; a string as UTF-8
   */
  checked (data) {
    const bytes = this.checkedBytes(typeof data === 'string' ? Buffer.from(data) : data)
    if (layout.isStorable(bytes)) return bytes
    throw errors.refusedRecord(this.filename, 'a record that is all zeros cannot be stored, since it would look deleted; start it with a byte that is not 0, such as a type')
  }

  /**
   * @param {unknown} data
   * @returns {Uint8Array} the same
   */
  checkedBytes (data) {
    if (!isBytes(data)) {
      throw errors.refusedRecord(this.filename, `a record must be a Buffer, a Uint8Array or a string, or the codec must make one of it (codec: 'json' makes one of objects, and none of undefined, functions and symbols); it is ${format(data)}`)
    }
    if (data.length === 0) throw errors.refusedRecord(this.filename, 'a record must have at least one byte')
    return data
  }

  /**
   * @param {Uint8Array} data
   * @returns {Uint8Array} the same; with large records, escaped if it looks like a chunk
   */
  fitting (data) {
    return this.fittingStored(this.large ? chunk.escape(data) : data)
  }

  /**
   * @param {Uint8Array} data as it is stored, if it fits into a block
   * @returns {Uint8Array} the same
   * @throws flumelog:too-large
   */
  fittingStored (data) {
    const { blockSize, large, filename } = this
    const most = large && blockSize >= chunk.MIN_BLOCK_SIZE ? chunk.MAX_LENGTH : layout.maxRecordSize(blockSize, this.checksum)
    if (data.length > most) throw (large ? errors.tooLargeToSplit : errors.tooLarge)(filename, data.length, most, blockSize)
    return data
  }

  /**
   * @param {Buffer[]} records as they were packed
   * @returns {Buffer[]} the same, with each large one as a whole
   */
  joined (records) {
    return this.large ? chunk.joinAll(records) : records
  }

  /**
   * @param {Uint8Array[]} batch
   * @throws flumelog:too-large unless they fit into one block together
   */
  fittingTogether (batch) {
    const bytes = batch.reduce((sum, data) => sum + data.length + layout.FRAME_SIZE, -layout.FRAME_SIZE)
    const most = layout.maxRecordSize(this.blockSize, this.checksum)
    if (bytes > most) throw errors.tooLargeTogether(this.filename, bytes, most, this.blockSize)
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
      throw errors.corrupt(filename, (seq - position) / blockSize, blockSize, position, 'the codec cannot decode the record, whose block is valid; was it written with another codec?', cause)
    }
  }

  /**
   * @param {Buffer} data
   * @returns {boolean} whether a record is what was once appended, as far as can be told
   */
  isWhole (data) {
    const kind = chunk.kindOf(data)
    if (kind === chunk.PLAIN) return this.isDecodable(data)
    // also where `large` is off: those of a large record that was acknowledged must not be lost
    const isWholeChunk = kind === chunk.ESCAPED ? this.isDecodable(chunk.unescape(data)) : chunk.isIntact(data)
    return isWholeChunk || (!this.large && this.isDecodable(data))
  }

  /**
   * @param {Buffer} data
   * @returns {boolean}
   */
  isDecodable (data) {
    try {
      this.decode(this.takesText ? layout.text(data, 0, data.length) : data, 0)
      return this.validate === undefined || this.validate(data) !== false
    } catch (err) {
      if (errors.isValidateError(err)) throw err
      return false
    }
  }
}

/**
 * @param {unknown} data
 * @returns {data is Uint8Array} also if it is one of another realm (`vm`), whose classes are not this one's
 */
function isBytes (data) {
  return data instanceof Uint8Array || isUint8Array(data)
}

module.exports = { RecordCodec }
