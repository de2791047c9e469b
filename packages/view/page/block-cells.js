// What is known of blocks. It is read in runs, of those that are seen, one run at a time.

import { get, isAborted } from './api.js'
import { percent, plural } from './format.js'

const RUN = 256
/** Runs that are kept. */
const MAX_RUNS = 400

/**
 * @typedef {object} Cell
 * @property {number} fill 0 to 1
 * @property {'records' | 'deleted' | 'hole' | 'tail' | 'corrupt' | 'trimmed'} kind
 * @property {number} deleted
 * @property {number} records
 * @property {boolean | null} checksum null: it has none
 */

export class BlockCells {
  /** @param {() => void} onChange @param {(err: Error) => void} onError */
  constructor (onChange, onError) {
    this.onChange = onChange
    this.onError = onError
    this.clear()
  }

  clear () {
    this.stop()
    /** @type {Map<number, Cell[]>} by the number of the run */
    this.runs = new Map()
    this.outdated = new Set()
    this.wanted = [0, 0]
    this.isFailed = false
  }

  stop () {
    this.loading?.abort()
    this.loading = null
  }

  /** The block has changed. @param {number} block and all after it */
  outdate (block) {
    for (const run of this.runs.keys()) if ((run + 1) * RUN > block) this.outdated.add(run)
    this.onChange()
  }

  /** @param {number} block @returns {Cell | undefined} */
  get (block) {
    return this.runs.get(Math.floor(block / RUN))?.[block % RUN]
  }

  /** Says which blocks are seen; those that are not known are read. @param {number} from @param {number} to */
  async want (from, to) {
    this.wanted = [Math.floor(from / RUN), Math.floor(Math.max(from, to - 1) / RUN)]
    if (this.loading !== null || this.isFailed) return
    const { signal } = this.loading = new window.AbortController()
    try {
      for (let run = this.next(); run !== null; run = this.next()) {
        const { blocks } = await get('blocks', { from: run * RUN, count: RUN }, signal)
        this.runs.delete(run)
        this.runs.set(run, blocks)
        this.outdated.delete(run)
        if (this.runs.size > MAX_RUNS) this.runs.delete(this.runs.keys().next().value)
        this.onChange()
      }
      this.loading = null
    } catch (err) {
      if (isAborted(err)) return
      this.loading = null
      this.isFailed = true
      this.onError(err)
    }
  }

  next () {
    const [first, last] = this.wanted
    for (let run = first; run <= last; run++) if (!this.runs.has(run) || this.outdated.has(run)) return run
    return null
  }
}

/** @param {number} number @param {Cell | undefined} cell */
export function describe (number, cell) {
  const name = `Block ${number.toLocaleString('en-US')}`
  if (cell === undefined) return `${name}: not read yet`
  if (cell.kind === 'corrupt') return `${name}: corrupt`
  if (cell.kind === 'hole') return `${name}: a hole, its space is freed`
  if (cell.kind === 'trimmed') return `${name}: trimmed`
  const deleted = cell.deleted > 0 ? `, ${cell.deleted} deleted` : ''
  const checksum = cell.kind === 'tail' ? 'still open' : cell.checksum === null ? 'no checksum' : cell.checksum ? 'checksum valid' : 'checksum wrong'
  return `${name}: ${plural(cell.records, 'record')}${deleted}, ${percent(cell.fill)} full, ${checksum}`
}
