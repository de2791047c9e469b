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
 * @property {(rows: Row[], reached: number) => void} onRows in the order of the log; may be called several times. reached: offset up to which the
 *   log has been looked at; in reverse, from which on
 * @property {(isAll: boolean) => void} onEnd isAll: there is nothing else in this direction
 * @property {(err: Error) => void} onError
 * @property {(progress: Progress) => void} [onProgress]
 * @property {(bounds: { start: number, warning: string | null }) => void} [onBounds]
 *
 * @typedef {(load: Load) => () => void} Source starts loading, and returns what stops that
 */

const ascending = (/** @type {Row} */ a, /** @type {Row} */ b) => a.seq - b.seq

/** @typedef {{ encoding: string, columns: string }} Shown columns: paths, separated by commas */

/** @param {Shown & { hidden: string }} shown hidden: whether deleted records are @returns {Source} */
export function allRecords ({ encoding, columns, hidden }) {
  return ({ from, reverse, onRows, onEnd, onError, onBounds }) => {
    const stopping = new window.AbortController()
    get('records', { from, count: PAGE, reverse: reverse ? 1 : 0, deleted: hidden === '' ? 1 : 0, encoding, columns }, stopping.signal).then(({ rows, start, next, at, warning }) => {
      onBounds?.({ start, warning })
      onRows(rows.sort(ascending), reverse ? at + 1 : at)
      onEnd(next === null)
    }).catch(err => {
      if (!isAborted(err)) onError(err)
    })
    return () => stopping.abort()
  }
}

/** @param {string} q @param {Shown} shown @returns {Source} */
export function matching (q, { encoding, columns }) {
  return ({ from, until, reverse, onRows, onEnd, onError, onProgress }) => {
    const stopping = new window.AbortController()
    /** @type {Row[]} hits that are not on the page yet: they come one by one, and are shown once per frame */
    let hits = []
    let frame = null
    let done = 0
    const flush = (reached) => {
      window.clearTimeout(frame)
      frame = null
      const rows = hits.sort(ascending)
      hits = []
      onRows(rows, reached)
    }
    const reachedBy = (at) => reverse ? at + 1 : at
    const reachedHit = () => reverse ? Math.min(...hits.map(({ seq }) => seq)) : Math.max(...hits.map(({ seq }) => seq)) + 1
    const handlers = {
      hit (row) {
        hits.push(row)
        // a timer, since frames stand still while the page is hidden
        frame ??= window.setTimeout(() => flush(reachedHit()), 16)
      },
      progress (progress) {
        done = progress.done
        flush(reachedBy(progress.at))
        onProgress(progress)
      },
      end ({ next, ...counts }) {
        flush(reachedBy(next ?? counts.at))
        onProgress({ ...counts, done: next === null ? 1 : done })
        onEnd(next === null)
      }
    }
    events('filter', { q, from, until, reverse: reverse ? 1 : 0, encoding, columns }, handlers, stopping.signal).catch(err => {
      if (!isAborted(err)) onError(err)
    })
    return () => {
      if (hits.length > 0) flush(reachedHit())
      stopping.abort()
    }
  }
}
