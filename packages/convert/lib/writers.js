'use strict'

// Writers of other formats: each appends records to a file. The parsers, such as offset-file.js, describe the formats.

const { isUtf8 } = require('buffer')
const { layout } = require('flumelog-random-access-file/blocks')
const { cellText, compact, finder, rowOf } = require('flumelog-random-access-file/json')
const errors = require('./errors')
const { END_SIZES, LENGTHS_SIZE } = require('./offset-file')
const aaol = require('./async-append-only-log-file')

const NEWLINE = 0x0a
/** Of the two formats in blocks: their default. */
const BLOCK_SIZE = 65536

/**
 * @typedef {import('./out-file').OutFile} OutFile
 *
 * @typedef {object} Writer
 * @property {(bytes: Buffer, start: number, end: number, seq: number) => void} add a record's data, and where the record is in the log
 * @property {() => void} end
 * @property {Set<string>} [missing] of CSV: fields that no record has had yet
 */

/** @implements {Writer} */
class OffsetWriter {
  /**
   * @param {OutFile} file
   * @param {string} filename of the log, for errors
   * @param {number} bits
   */
  constructor (file, filename, bits) {
    this.file = file
    this.filename = filename
    this.bits = bits
    this.endSize = END_SIZES[bits]
  }

  /** @type {Writer['add']} */
  add (bytes, start, end) {
    const { file, endSize } = this
    const length = end - start
    const frame = LENGTHS_SIZE + endSize
    file.reserve(frame + length)
    const { buffer, used } = file
    const after = file.size + frame + length
    if (endSize === 4 && after > 0xffffffff) throw errors.exportTooLarge(this.filename)
    buffer.writeUInt32BE(length, used)
    file.copy(used + 4, bytes, start, end)
    buffer.writeUInt32BE(length, used + 4 + length)
    const at = used + LENGTHS_SIZE + length
    if (endSize === 8) buffer.writeBigUInt64BE(BigInt(after), at)
    else buffer.writeUIntBE(after, at, endSize)
    file.used = at + endSize
  }

  end () {}
}

/** Blocks, in which no record crosses a boundary. */
class BlockWriter {
  /**
   * @param {OutFile} file
   * @param {string} filename of the log, for errors
   * @param {number} frame bytes of a record besides its data
   * @param {number} padding bytes at the end of a block, at least
   */
  constructor (file, filename, frame, padding) {
    this.file = file
    this.filename = filename
    this.frame = frame
    this.room = BLOCK_SIZE - padding
    /** in the block that is being filled */
    this.position = 0
  }

  /**
   * @param {number} length
   * @param {number} seq
   * @returns {number} where the record goes, in the buffer of the file
   */
  place (length, seq) {
    const size = this.frame + length
    if (size > this.room) throw errors.cannotExport(this.filename, seq, `it has ${length} bytes; the format takes at most ${this.room - this.frame}`)
    if (this.position + size > this.room) this.endBlock()
    this.file.reserve(size)
    const at = this.file.used
    this.file.used += size
    this.position += size
    return at
  }

  endBlock () {
    const rest = BLOCK_SIZE - this.position
    this.file.reserve(rest)
    const { buffer, used } = this.file
    buffer.fill(0, used, used + rest)
    this.pad(buffer, used, used + rest)
    this.file.used += rest
    this.position = 0
  }

  /**
   * @param {Buffer} buffer
   * @param {number} start of the zeros at the end of a block
   * @param {number} end
   */
  pad (buffer, start, end) {}

  end () {}
}

/** @implements {Writer} */
class AlignedWriter extends BlockWriter {
  /**
   * @param {OutFile} file
   * @param {string} filename
   */
  constructor (file, filename) {
    // without checksums, as flumelog-aligned-offset writes it
    super(file, filename, layout.FRAME_SIZE, layout.paddingSize(false))
  }

  /** @type {Writer['add']} */
  add (bytes, start, end, seq) {
    const at = this.place(end - start, seq)
    const { buffer } = this.file
    layout.writeLength(buffer, at, end - start)
    this.file.copy(at + layout.LENGTH_SIZE, bytes, start, end)
    layout.writeLength(buffer, at + layout.LENGTH_SIZE + end - start, end - start)
  }

  /** @type {BlockWriter['pad']} */
  pad (buffer, start, end) {
    buffer.writeUInt16LE(BLOCK_SIZE - 1, start)
    buffer.writeUInt32LE(this.position, end - 4)
  }
}

/** @implements {Writer} */
class AsyncAppendOnlyLogWriter extends BlockWriter {
  /**
   * @param {OutFile} file
   * @param {string} filename
   */
  constructor (file, filename) {
    super(file, filename, aaol.LENGTH_SIZE, aaol.LENGTH_SIZE)
  }

  /** @type {Writer['add']} */
  add (bytes, start, end, seq) {
    const at = this.place(end - start, seq)
    layout.writeLength(this.file.buffer, at, end - start)
    this.file.copy(at + aaol.LENGTH_SIZE, bytes, start, end)
  }

  /** All blocks are whole. */
  end () {
    if (this.position > 0) this.endBlock()
  }
}

/** @implements {Writer} */
class NdjsonWriter {
  /**
   * @param {OutFile} file
   * @param {string} filename of the log, for errors
   */
  constructor (file, filename) {
    this.file = file
    this.filename = filename
  }

  /** @type {Writer['add']} */
  add (bytes, start, end, seq) {
    textOf(bytes, start, end, seq, this.filename)
    // not the parsed value: long numbers would be rounded
    const line = compact(bytes.subarray(start, end))
    const { file } = this
    file.reserve(line.length + 1)
    file.copy(file.used, line, 0, line.length)
    file.used += line.length
    file.buffer[file.used++] = NEWLINE
  }

  end () {}
}

/** @implements {Writer} */
class CsvWriter {
  /**
   * @param {OutFile} file
   * @param {string} filename of the log, for errors
   * @param {string[]} fields
   */
  constructor (file, filename, fields) {
    this.file = file
    this.filename = filename
    this.columns = fields.map(field => ({ field, keys: field.split('.') }))
    /** @type {Set<string>} */
    this.missing = new Set(fields)
    file.addText(rowOf(fields) + '\n')
  }

  /** @type {Writer['add']} */
  add (bytes, start, end, seq) {
    const find = finder(textOf(bytes, start, end, seq, this.filename))
    const cells = this.columns.map(({ field, keys }) => {
      const found = find(keys)
      if (found !== undefined && this.missing.size > 0) this.missing.delete(field)
      return cellText(found)
    })
    this.file.addText(rowOf(cells) + '\n')
  }

  end () {}
}

/**
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} end
 * @param {number} seq
 * @param {string} filename
 * @returns {string} JSON
 */
function textOf (bytes, start, end, seq, filename) {
  if (!isUtf8(bytes.subarray(start, end))) throw errors.cannotExport(filename, seq, 'it is not JSON, since it is not UTF-8')
  const text = layout.text(bytes, start, end)
  try {
    JSON.parse(text)
  } catch (err) {
    throw errors.cannotExport(filename, seq, `it is not JSON: ${/** @type {Error} */ (err).message}`)
  }
  return text
}

/**
 * @param {string} to
 * @param {OutFile} file
 * @param {string} filename of the log
 * @param {string[]} fields for CSV
 * @returns {Writer}
 */
function writerOf (to, file, filename, fields) {
  switch (to) {
    case 'flumelog-offset-32': return new OffsetWriter(file, filename, 32)
    case 'flumelog-offset-53': return new OffsetWriter(file, filename, 53)
    case 'flumelog-aligned-offset': return new AlignedWriter(file, filename)
    case 'async-append-only-log': return new AsyncAppendOnlyLogWriter(file, filename)
    case 'ndjson': return new NdjsonWriter(file, filename)
    case 'csv': return new CsvWriter(file, filename, fields)
    default: return new OffsetWriter(file, filename, 48)
  }
}

module.exports = { OffsetWriter, writerOf }
