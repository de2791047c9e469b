// What a filter has looked at: a range of the log, which grows on both sides. What is read again, after rows were dropped, is not counted again.

const NOTHING = { hits: 0, scanned: 0, corrupt: 0 }

export class Scan {
  constructor () {
    this.counts = this.before = NOTHING
    this.isScanning = this.isStopped = false
    /** Offset from which on all has been looked at, and up to which. */
    this.low = this.high = 0
    this.reachedStart = this.reachedEnd = false
    this.missing = null
  }

  /**
   * @param {{ offset: number, reverse: boolean, isFresh: boolean, start: number, end: number }} load from an offset on, or in reverse of what is before it
   * @returns {number | null} offset at which it is to end, since it goes on differently from there
   */
  begin ({ offset, reverse, isFresh, start, end }) {
    if (isFresh) {
      this.low = this.high = offset
      this.counts = NOTHING
      this.reachedStart = !reverse && offset <= start
      this.reachedEnd = reverse && offset >= end
      this.missing = undefined
    }
    this.isAgain = !isFresh && (reverse ? offset > this.low : offset < this.high)
    this.reverse = reverse
    this.before = this.counts
    this.done = 0
    this.isScanning = true
    this.isStopped = false
    return !this.isAgain || (reverse && this.low <= start) ? null : reverse ? this.low : this.high
  }

  /** @param {{ at: number, done: number, hits: number, scanned: number, corrupt: number, missing?: string | null }} progress */
  progress ({ at, done, hits, scanned, corrupt, missing }) {
    this.done = done
    if (this.isAgain) return
    this.counts = { hits: this.before.hits + hits, scanned: this.before.scanned + scanned, corrupt: this.before.corrupt + corrupt }
    if (missing !== undefined && this.missing !== null) this.missing = missing
    if (this.reverse) this.low = Math.min(this.low, at + 1)
    else this.high = Math.max(this.high, at)
  }

  /** @param {boolean} isAll whether nothing is left on this side */
  end (isAll) {
    this.isScanning = false
    if (!isAll) return
    if (this.reverse) this.reachedStart = true
    else this.reachedEnd = true
  }

  stop () {
    this.isStopped = this.isScanning
    this.isScanning = false
  }

  /** Whether it only looks at what was appended. */
  get isFollowing () {
    return this.reachedEnd && !this.reverse
  }

  /** Whether all of the log has been looked at. */
  get isWhole () {
    return this.reachedStart && this.reachedEnd
  }
}
