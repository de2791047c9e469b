// The part of a log that is loaded around what is seen: some hundred rows of one height. No element is as high as the
// log: browsers limit heights, and a log has no number of records that could be known in advance.

/** Rows that are kept; the others are dropped on the far side, and loaded again. */
const MAX_ROWS = 1500
/** Rows to have on each side of what is seen. */
const AHEAD = 150
/** Rows from which on positions start at 0 again: browsers limit coordinates. */
const MAX_PLACE = 500000

/**
 * @typedef {object} Row
 * @property {number} seq
 * @property {number} size
 * @property {number | null} time
 * @property {string} line
 * @property {string} kind
 * @property {boolean} deleted
 * @property {boolean} [corrupt]
 * @property {(string | null)[]} [cells] of the columns, as JSON
 * @property {[number, number][]} [marks] what the filter has found in the line
 */

export class RecordWindow {
  /** @param {number} rowHeight in pixels */
  constructor (rowHeight) {
    this.rowHeight = rowHeight
    /** Height of what is seen, in pixels. */
    this.height = 0
    /** Offsets at which the log starts and ends, as far as it is known. */
    this.start = this.end = 0
    this.clear(0)
  }

  /** @param {number} offset next to which rows are going to be loaded */
  clear (offset) {
    /** @type {Row[]} in the order of the log */
    this.rows = []
    /** All rows from this offset to that one are loaded. */
    this.low = this.high = offset
    /** Pixels from the first row's top to the top of what is seen. */
    this.top = 0
    /** Where the first row is, in rows: each row keeps its place for as long as it is loaded, so that it is painted once. */
    this.place = 0
  }

  /** Whether nothing comes before the first row. */
  get isFirst () {
    return this.low <= this.start
  }

  get isLast () {
    return this.high >= this.end
  }

  get maxTop () {
    return Math.max(0, this.rows.length * this.rowHeight - this.height)
  }

  get isAtEnd () {
    return this.isLast && this.top >= this.maxTop - this.rowHeight
  }

  get firstSeen () {
    return Math.min(this.rows.length - 1, Math.floor(this.top / this.rowHeight))
  }

  /** Number of rows that fit. */
  get page () {
    return Math.max(1, Math.floor(this.height / this.rowHeight))
  }

  get lacksBefore () {
    return !this.isFirst && this.firstSeen < AHEAD
  }

  get lacksAfter () {
    return !this.isLast && this.rows.length - this.firstSeen - this.page < AHEAD
  }

  /** @param {number} pixels */
  scrollBy (pixels) {
    const previous = this.top
    this.top += pixels
    this.clamp()
    return this.top !== previous
  }

  scrollToEnd () {
    this.top = this.maxTop
  }

  clamp () {
    if (Math.abs(this.place) > MAX_PLACE) this.place = 0
    this.top = Math.max(0, Math.min(this.maxTop, this.top))
  }

  /** @param {Row[]} rows those from `high` on @param {number} high offset up to which they are all */
  addAfter (rows, high) {
    this.rows = this.rows.concat(rows)
    this.reached(high)
    const excess = Math.min(this.rows.length - MAX_ROWS, this.firstSeen - AHEAD)
    if (excess > 0) this.dropFirst(excess)
    this.clamp()
  }

  /** @param {Row[]} rows those before `low` @param {number} low offset from which on they are all */
  addBefore (rows, low) {
    this.rows = rows.concat(this.rows)
    this.reached(low)
    this.top += rows.length * this.rowHeight
    this.place -= rows.length
    const excess = this.rows.length - Math.max(MAX_ROWS, this.firstSeen + this.page + AHEAD)
    if (excess > 0) {
      this.high = this.rows.at(-excess).seq
      this.rows = this.rows.slice(0, -excess)
    }
    this.clamp()
  }

  /** Nothing is between the rows and this offset. @param {number} offset */
  reached (offset) {
    this.low = Math.min(this.low, offset)
    this.high = Math.max(this.high, offset)
  }

  dropFirst (count) {
    this.low = this.rows[count]?.seq ?? this.high
    this.rows = this.rows.slice(count)
    this.top -= count * this.rowHeight
    this.place += count
  }

  /** The log was trimmed. @param {number} start */
  trim (start) {
    this.start = start
    const kept = this.rows.findIndex(row => row.seq >= start)
    if (kept !== 0) this.dropFirst(kept === -1 ? this.rows.length : kept)
    this.low = Math.max(this.low, start)
    this.high = Math.max(this.high, start)
    this.clamp()
  }

  /** @param {number} seq @returns {number} -1: not loaded */
  indexOf (seq) {
    return this.rows.findIndex(row => row.seq === seq)
  }

  /** Scrolls as little as possible. @param {number} index of a row */
  reveal (index) {
    const top = index * this.rowHeight
    if (top < this.top) this.top = top
    else if (top + this.rowHeight > this.top + this.height) this.top = top + this.rowHeight - this.height
    this.clamp()
  }
}
