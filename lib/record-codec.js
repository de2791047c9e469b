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
    return this.fitting(this.checked(this.asBytes(this.encoded(value))))
  }

  /**
   * The same, but strings that are sure to be records are left to the packer.
   * @param {any} value
   * @returns {Uint8Array | string}
   * @throws flumelog:invalid, flumelog:too-large
   */
  encodeText (value) {
    const data = this.encoded(value)
    return typeof data === 'string' && this.isSurelyStorable(data) ? data : this.fitting(this.checked(this.asBytes(data)))
  }

  /** @param {string} text */
  isSurelyStorable (text) {
    return text.length > 0 && text.charCodeAt(0) !== 0 && text.length * layout.MAX_UTF8 <= layout.maxRecordSize(this.blockSize, this.checksum)
  }

  /**
   * @param {any[]} values
   * @returns {Uint8Array[]}
   * @throws the error of the first one that is refused
   */
  encodeBatch (values) {
    const batch = []
    // `map` would skip what an array does not have
    for (let index = 0; index < values.length; index++) {
      try {
        const data = this.encoded(values[index])
        const bytes = this.fitting(this.checked(this.asBytes(data)))
        // the codec may use its buffer again for the next one
        batch.push(data === values[index] || typeof data === 'string' ? bytes : Buffer.from(bytes))
      } catch (err) {
        throw errors.refusedArray(err, index, values.length)
      }
    }
    return batch
  }

  /**
   * @param {any} records as they are stored: one of zeros is a deleted record
   * @returns {Uint8Array[]} the same
   * @throws the error of the first one that is refused
   */
  storedBatch (records) {
    if (!Array.isArray(records)) throw errors.refusedRecord(this.filename, `records must be an array; it is ${format(records)}`)
    for (let index = 0; index < records.length; index++) {
      try {
        this.fittingStored(this.checkedBytes(records[index]))
      } catch (err) {
        throw errors.refusedArray(err, index, records.length)
      }
    }
    return records
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
   * @param {unknown} data what the codec has made
   * @returns {unknown} a string as bytes
   */
  asBytes (data) {
    return typeof data === 'string' ? Buffer.from(data) : data
  }

  /**
   * @param {unknown} data
   * @returns {Uint8Array} the same
   */
  checked (data) {
    const bytes = this.checkedBytes(data)
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
   * @returns {Uint8Array} the same
   */
  fitting (data) {
    const most = layout.maxRecordSize(this.blockSize, this.checksum)
    if (data.length > most) throw errors.tooLarge(this.filename, data.length, most, this.blockSize)
    return data
  }

  /**
   * @param {Uint8Array} data as it is stored, if it fits into a block
   * @returns {Uint8Array} the same
   * @throws flumelog:too-large
   */
  fittingStored (data) {
    return this.fitting(data)
  }

  /**
   * @param {Buffer[]} records as they were packed
   * @returns {Buffer[]} the same, with each large one as a whole
   */
  joined (records) {
    return records
  }

  /**
   * @param {Uint8Array[]} batch
   * @returns {Uint8Array[]} the same; together they fit one block
   */
  fittingTogether (batch) {
    const bytes = batch.reduce((sum, data) => sum + data.length + layout.FRAME_SIZE, -layout.FRAME_SIZE)
    const most = layout.maxRecordSize(this.blockSize, this.checksum)
    if (bytes > most) throw errors.tooLargeTogether(this.filename, bytes, most, this.blockSize)
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

/** Of a log with large records. */
class LargeRecordCodec extends RecordCodec {
  /**
   * @param {Uint8Array} data
   * @returns {Uint8Array} the same, escaped if it looks like a chunk
   */
  fitting (data) {
    return this.fittingStored(data[0] === chunk.FIRST_BYTE && chunk.startsWithMagic(data, 0, data.length) ? chunk.escape(data) : data)
  }

  /**
   * @param {Uint8Array} data
   * @returns {Uint8Array}
   */
  fittingStored (data) {
    const { blockSize } = this
    const most = blockSize < chunk.MIN_BLOCK_SIZE ? layout.maxRecordSize(blockSize, this.checksum) : chunk.MAX_LENGTH
    if (data.length > most) throw errors.tooLargeToSplit(this.filename, data.length, most, blockSize)
    return data
  }

  /**
   * @param {Buffer[]} records
   * @returns {Buffer[]}
   */
  joined (records) {
    return chunk.joinAll(records)
  }
}

/**
 * @param {import('./options').Settings} settings
 * @param {string} filename for messages
 * @param {number} blockSize in bytes
 * @returns {RecordCodec}
 */
function recordCodecOf (settings, filename, blockSize) {
  return settings.large ? new LargeRecordCodec(settings, filename, blockSize) : new RecordCodec(settings, filename, blockSize)
}

/**
 * @param {unknown} data
 * @returns {data is Uint8Array} also if it is one of another realm (`vm`), whose classes are not this one's
 */
function isBytes (data) {
  return data instanceof Uint8Array || isUint8Array(data)
}

module.exports = { RecordCodec, recordCodecOf }
