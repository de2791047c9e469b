'use strict'

// What records contain: found by trying, or as the caller says. A record that is not in the encoding of the others is shown as
// text, or as hex.

const { isUtf8 } = require('buffer')
const { format, shorten } = require('flumelog-random-access-file/blocks')
const json = require('flumelog-random-access-file/json')
const errors = require('../errors')
const { closedStart } = require('./json-start')
const { packingOf, unpack } = require('./packing')
const { timeIn } = require('./times')

/** Readers of binary formats, which are loaded when they are tried. @type {Record<string, () => typeof import('./bytes-reader').BytesReader>} */
const BINARY = {
  bipf: () => require('./bipf').BipfReader,
  cbor: () => require('./cbor').CborReader,
  msgpack: () => require('./msgpack').MessagePackReader
}
/** Another name of `utf8`, which was the only one. */
const TEXT = 'text'
const ENCODINGS = ['json', 'utf8', 'hex', ...Object.keys(BINARY)]
/** The name of what the caller's codec decodes. */
const CODEC = 'codec'
/** Which share of the records a format must fit for it to be taken. */
const FITTING = 0.8
/** Characters of a record in a list. */
const MAX_LINE = 300
/** The same before a match that is further behind, and matches that are marked in a line. */
const BEFORE_MATCH = 60
const MAX_MARKS = 50
const CONTROLS = /(?![\t\n\r])\p{Cc}/u

/**
 * @typedef {object} Decoded
 * @property {string} kind the encoding that it has
 * @property {any} [value] missing: it is text, or bytes
 * @property {string} [json] the same as JSON; a record that is JSON as it is written
 * @property {string} [start] of JSON that was cut: its complete members, as JSON
 * @property {string} [text] if it is text
 * @typedef {import('../types').ReadCodec} ReadCodec
 */

class Decoder {
  /**
   * @param {{ encoding?: string, codec?: ReadCodec, time?: (value: any) => number | Date | null | undefined }} options
   * @throws flumelog:invalid
   */
  constructor ({ encoding, codec, time }) {
    this.encodings = codec === undefined ? ENCODINGS : [CODEC, ...ENCODINGS]
    this.codec = codec
    this.time = time ?? timeIn
    /** Why the codec has not decoded the first record that it failed on. @type {string | null} */
    this.warning = null
    /** With what each record is compressed; null: it is not, or the codec unpacks it. @type {string | null} */
    this.packing = null
    /** Whether samples were looked at. */
    this.isDetected = codec !== undefined
    /** Null: not known yet. @type {string | null} */
    this.encoding = codec === undefined ? null : CODEC
    if (encoding !== undefined && encoding !== null) this.encoding = this.check(encoding)
  }

  /**
   * @param {string} given
   * @returns {string} its name
   * @throws flumelog:invalid
   */
  check (given) {
    const encoding = given === TEXT ? 'utf8' : given
    if (this.encodings.includes(encoding)) return encoding
    throw errors.invalid(`encoding must be ${this.encodings.join(', ')}; it is ${format(encoding)}`)
  }

  /**
   * Decides how the log is packed, and what it contains, if nobody has said so.
   * @param {Buffer[]} samples some records
   */
  detect (samples) {
    if (samples.length === 0) return
    this.isDetected = true
    const packing = this.packing = packingOf(samples)
    const contents = packing === null ? samples : samples.map(data => unpack(data, packing)).filter(data => data !== null)
    this.encoding ??= encodingOf(contents)
  }

  /**
   * @param {Buffer} data
   * @param {string | null} [encoding]
   * @returns {Decoded}
   */
  decode (data, encoding = this.encoding) {
    encoding ??= 'json'
    if (encoding === 'hex') return { kind: 'hex' }
    if (this.packing !== null) {
      const unpacked = unpack(data, this.packing)
      if (unpacked === null) return plain(data)
      data = unpacked
    }
    if (encoding === CODEC) return this.byCodec(data) ?? plain(data)
    if (encoding in BINARY) {
      const value = attempt(() => BINARY[/** @type {string} */ (encoding)]().decode(data))
      return value === undefined ? plain(data) : { kind: encoding, value, json: JSON.stringify(value) }
    }
    const decoded = plain(data)
    if (encoding === 'utf8' || decoded.text === undefined) return decoded
    const { text } = decoded
    const value = attempt(() => JSON.parse(text))
    return value === undefined ? decoded : { kind: 'json', value, json: text }
  }

  /**
   * @param {Buffer} data the first bytes of a record
   * @param {string | null} [encoding]
   * @returns {Decoded} of JSON, with the members that are complete; otherwise text, or bytes
   */
  decodeStart (data, encoding = this.encoding) {
    if (encoding === 'hex') return { kind: 'hex' }
    const decoded = plain(withoutHalfCharacter(data))
    const start = decoded.text === undefined || (encoding ?? 'json') !== 'json' ? null : closedStart(decoded.text)
    if (start === null) return decoded
    const value = attempt(() => JSON.parse(start))
    return value === undefined ? decoded : { ...decoded, kind: 'json', value, start }
  }

  /**
   * @param {Buffer} data
   * @returns {Decoded | null}
   */
  byCodec (data) {
    const { decode, buffer } = /** @type {ReadCodec} */ (this.codec)
    try {
      const value = decode(buffer === false ? data.toString() : data)
      if (isPromise(value)) return this.failed('it has returned a promise')
      const text = JSON.stringify(value, forJson)
      return text === undefined ? this.failed(`it has returned ${format(value)}`) : { kind: CODEC, value, json: text }
    } catch (err) {
      return this.failed(err instanceof Error ? err.message : String(err))
    }
  }

  /**
   * Warns, once.
   * @param {string} reason
   */
  failed (reason) {
    if (this.warning === null) {
      this.warning = `the codec fails: ${shorten(reason)}; records that it cannot decode are shown as text, or as hex`
      process.emitWarning(this.warning, { code: 'FLUMELOG_CODEC' })
    }
    return null
  }

  /**
   * @param {Decoded} decoded
   * @returns {number | null} milliseconds since 1970
   */
  timeOf ({ value }) {
    const time = Number(attempt(() => this.time(value)) ?? NaN)
    return Number.isFinite(time) ? time : null
  }
}

/**
 * @param {Decoded} decoded
 * @param {Buffer} data
 * @param {import('flumelog-random-access-file/json').Filter} [filter] what it looks for is marked; if that is further behind, the line starts shortly before it
 * @returns {{ line: string, marks?: Array<[number, number]> }} one line, not too long
 */
function lineOf (decoded, data, filter) {
  const whole = decoded.json ?? decoded.text
  if (whole === undefined) return { line: data.toString('hex', 0, MAX_LINE / 2) }
  const first = filter?.marks(whole).reduce((least, { index, length }) => Math.min(least, index + length > MAX_LINE ? index : 0), Infinity) ?? 0
  const from = Number.isFinite(first) ? Math.max(0, first - BEFORE_MATCH) : 0
  const text = whole.slice(from, from + 4 * MAX_LINE)
  // JSON has line breaks only between tokens
  const oneLine = decoded.json !== undefined || decoded.start !== undefined ? text.replace(/\s*[\r\n]\s*/g, ' ') : text.replace(/\r?\n|\r/g, '↵')
  const line = `${from > 0 ? '…' : ''}${oneLine}`.slice(0, MAX_LINE)
  return filter === undefined ? { line } : { line, marks: marksIn(line, filter) }
}

/**
 * @param {string} line
 * @param {import('flumelog-random-access-file/json').Filter} filter
 * @returns {Array<[number, number]>} in order, without overlaps
 */
function marksIn (line, { marks }) {
  /** @type {Array<[number, number]>} */
  const found = []
  for (let from = 0; found.length < MAX_MARKS;) {
    const next = marks(line.slice(from)).sort((a, b) => a.index - b.index)[0]
    if (next === undefined) break
    found.push([from + next.index, from + next.index + next.length])
    from += next.index + next.length
  }
  return found
}

/**
 * @param {Decoded} decoded
 * @returns {string | null} all of it as text to read, null if it is none
 */
function textOf (decoded) {
  return decoded.json === undefined ? decoded.text ?? null : json.pretty(decoded.json)
}

/**
 * @param {Buffer} data
 * @returns {Decoded} text, if it is UTF-8
 */
function plain (data) {
  return isUtf8(data) ? { kind: 'utf8', text: data.toString() } : { kind: 'hex' }
}

/**
 * @param {Buffer} data the start of a record
 * @returns {Buffer} without what may be the start of a character in UTF-8
 */
function withoutHalfCharacter (data) {
  let end = data.length
  while (end > 0 && end > data.length - 4 && (data[end - 1] & 0xc0) === 0x80) end--
  return end > 0 && data[end - 1] >= 0xc0 ? data.subarray(0, end - 1) : data
}

/**
 * @param {Buffer[]} samples
 * @returns {string}
 */
function encodingOf (samples) {
  const least = FITTING * samples.length
  const texts = samples.filter(data => isUtf8(data)).map(data => data.toString())
  const parsed = texts.map(text => attempt(() => JSON.parse(text))).filter(value => value !== undefined)
  // digits alone are JSON, too
  if (parsed.length >= least && parsed.some(isStructured)) return 'json'
  if (texts.filter(text => !CONTROLS.test(text)).length >= least) return 'utf8'
  const best = Object.keys(BINARY).map(name => ({ name, score: scoreOf(BINARY[name](), samples) })).sort((a, b) => b.score - a.score)[0]
  return best.score >= least ? best.name : texts.length >= least ? 'utf8' : 'hex'
}

/**
 * @param {typeof import('./bytes-reader').BytesReader} Reader
 * @param {Buffer[]} samples
 * @returns {number} short bytes are a value in any of these formats by chance; objects are not
 */
function scoreOf (Reader, samples) {
  let score = 0
  for (const data of samples) {
    const value = attempt(() => Reader.decode(data))
    if (value !== undefined) score += Array.isArray(value) ? 1 : isStructured(value) ? 2 : data.length > 8 ? 1 : 0.1
  }
  return score
}

/**
 * @param {any} value
 * @returns {boolean} whether nothing can be shown of it in time; should it be rejected, nobody is told
 */
function isPromise (value) {
  if (typeof attempt(() => value.then) !== 'function') return false
  Promise.resolve(value).catch(() => {})
  return true
}

/** @param {any} value */
function isStructured (value) {
  return typeof value === 'object' && value !== null
}

/**
 * @template T
 * @param {() => T} run on bytes that can be anything
 * @returns {T | undefined} undefined if it throws
 */
function attempt (run) {
  try {
    return run()
  } catch {
    return undefined
  }
}

/**
 * @this {any}
 * @param {string} key
 * @param {any} value
 * @returns {any} what JSON can have instead of it
 */
function forJson (key, value) {
  const original = this[key]
  if (original instanceof Uint8Array) return `h'${Buffer.from(original).toString('hex')}'`
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (value instanceof Map) return [...value]
  return value instanceof Set ? [...value] : value
}

module.exports = { Decoder, lineOf, textOf }
