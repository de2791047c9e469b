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
 */

export class RecordWindow {
  /** @param {number} rowHeight in pixels */
  constructor (rowHeight) {
    this.rowHeight = rowHeight
    /** Height of what is seen, in pixels. */
    this.height = 0
    this.clear()
  }

  clear () {
    /** @type {Row[]} in the order of the log */
    this.rows = []
    /** Pixels from the first row's top to the top of what is seen. */
    this.top = 0
    /** Where the first row is, in rows: each row keeps its place for as long as it is loaded, so that it is painted once. */
    this.place = 0
    /** Whether nothing comes before the first row; after the last. */
    this.isFirst = false
    this.isLast = false
    /** Where to go on loading, if not next to the first or last row. @type {number | null} */
    this.before = null
    this.after = null
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

  /** @param {Row[]} rows */
  addAfter (rows) {
    const last = this.rows.at(-1)?.seq ?? -1
    this.rows = this.rows.concat(rows.filter(row => row.seq > last))
    this.after = null
    const excess = Math.min(this.rows.length - MAX_ROWS, this.firstSeen - AHEAD)
    if (excess > 0) {
      this.rows = this.rows.slice(excess)
      this.top -= excess * this.rowHeight
      this.place += excess
      this.isFirst = false
      this.before = null
    }
    this.clamp()
  }

  /** @param {Row[]} rows */
  addBefore (rows) {
    const first = this.rows[0]?.seq ?? Infinity
    const earlier = rows.filter(row => row.seq < first)
    this.rows = earlier.concat(this.rows)
    this.top += earlier.length * this.rowHeight
    this.place -= earlier.length
    this.before = null
    const excess = this.rows.length - Math.max(MAX_ROWS, this.firstSeen + this.page + AHEAD)
    if (excess > 0) {
      this.rows = this.rows.slice(0, -excess)
      this.isLast = false
      this.after = null
    }
    this.clamp()
  }

  /** The log was trimmed. @param {number} start @returns {boolean} whether there were rows before it */
  dropBefore (start) {
    const gone = this.rows.findIndex(row => row.seq >= start)
    if (gone === 0 || this.rows.length === 0) return false
    const count = gone === -1 ? this.rows.length : gone
    this.rows = this.rows.slice(count)
    this.top -= count * this.rowHeight
    this.place += count
    this.isFirst = true
    this.clamp()
    return true
  }

  /** Where to load from: the first offset that is not loaded, in this direction. @param {boolean} reverse */
  from (reverse) {
    if (reverse) return this.before ?? (this.rows.length > 0 ? this.rows[0].seq - 1 : null)
    return this.after ?? (this.rows.length > 0 ? this.rows.at(-1).seq + 1 : null)
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
