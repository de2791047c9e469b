'use strict'

// Whether a mirror or a pull falls behind: it has not reached, for some time, where its source ended at the start of that time. One that is
// always a little behind a source that always grows does not.

/** Milliseconds. */
const PATIENCE = 10_000

class Lag {
  /**
   * @param {(type: 'lag' | 'current') => void} tell called when it falls behind, and when it has caught up
   * @param {() => number} [now] milliseconds
   */
  constructor (tell, now = () => performance.now()) {
    this.tell = tell
    this.now = now
    /** Where the source ended, and when. */
    this.mark = -Infinity
    this.markedAt = 0
    this.isBehind = false
  }

  /**
   * @param {number} position
   * @param {number} end of the source
   */
  note (position, end) {
    const now = this.now()
    const isBehind = position < this.mark && (this.isBehind || now - this.markedAt >= PATIENCE)
    if (position >= this.mark) {
      this.mark = end
      this.markedAt = now
    }
    if (isBehind === this.isBehind) return
    this.isBehind = isBehind
    this.tell(isBehind ? 'lag' : 'current')
  }
}

module.exports = { Lag, PATIENCE }
