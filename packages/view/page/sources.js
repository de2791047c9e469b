// Where rows come from: all records, or those that match a filter, as the server finds them.

import { get, events, isAborted } from './api.js'

const PAGE = 200

/**
 * @typedef {import('./window.js').Row} Row
 *
 * @typedef {object} Progress of a scan
 * @property {number} at offset up to which it is
 * @property {number} done 0 to 1
 * @property {number} hits
 * @property {number} scanned records
 * @property {number} corrupt blocks that were passed over
 * @property {string | null} [missing] at its end: the path at which no record has a value
 *
 * @typedef {object} Load
 * @property {number} from offset
 * @property {number | null} until offset at which a filter is to end
 * @property {boolean} reverse
 * @property {(rows: Row[]) => void} onRows in the order of the log; may be called several times
 * @property {(next: number | null) => void} onEnd next: where to go on; null: there is nothing else
 * @property {(err: Error) => void} onError
 * @property {(progress: Progress) => void} [onProgress]
 * @property {(bounds: { start: number, end: number }) => void} [onBounds]
 *
 * @typedef {(load: Load) => () => void} Source starts loading, and returns what stops that
 */

const ascending = (/** @type {Row} */ a, /** @type {Row} */ b) => a.seq - b.seq

/** @param {string} encoding @returns {Source} */
export function allRecords (encoding) {
  return ({ from, reverse, onRows, onEnd, onError, onBounds }) => {
    const stopping = new window.AbortController()
    get('records', { from, count: PAGE, reverse: reverse ? 1 : 0, deleted: 1, encoding }, stopping.signal).then(({ rows, start, end, next, warning }) => {
      onBounds?.({ start, end, warning })
      onRows(rows.sort(ascending))
      onEnd(next)
    }).catch(err => {
      if (!isAborted(err)) onError(err)
    })
    return () => stopping.abort()
  }
}

/** @param {string} q @param {string} encoding @returns {Source} */
export function matching (q, encoding) {
  return ({ from, until, reverse, onRows, onEnd, onError, onProgress }) => {
    const stopping = new window.AbortController()
    /** @type {Row[]} hits that are not on the page yet: they come one by one, and are shown once per frame */
    let hits = []
    let frame = null
    let done = 0
    const flush = () => {
      window.clearTimeout(frame)
      frame = null
      const rows = hits.sort(ascending)
      hits = []
      if (rows.length > 0) onRows(rows)
    }
    const handlers = {
      hit (row) {
        hits.push(row)
        // a timer, since frames stand still while the page is hidden
        frame ??= window.setTimeout(flush, 16)
      },
      progress (progress) {
        done = progress.done
        onProgress(progress)
      },
      end ({ next, ...counts }) {
        flush()
        onProgress({ ...counts, done: next === null ? 1 : done })
        onEnd(next)
      }
    }
    events('filter', { q, from, until, reverse: reverse ? 1 : 0, encoding }, handlers, stopping.signal).catch(err => {
      if (!isAborted(err)) onError(err)
    })
    return () => {
      flush()
      stopping.abort()
    }
  }
}
