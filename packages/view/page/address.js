// The state of the page is its address: `#view=records&at=0&q=...`.

/**
 * @typedef {object} State
 * @property {'records' | 'shelf' | 'numbers'} view
 * @property {number | null} at offset of the first record that is seen
 * @property {number | null} seq of the selected record
 * @property {string} q the filter; empty: none
 * @property {'tree' | 'text' | 'hex' | null} panel what is open of the selected record
 * @property {string} encoding empty: found by trying
 * @property {number | null} block the selected one
 * @property {string} columns paths, separated by commas
 * @property {'' | '1'} hidden whether deleted records are
 */

const VIEWS = ['records', 'shelf', 'numbers']
const PANELS = ['tree', 'text', 'hex']
/** As many as the server gives. */
const MAX_COLUMNS = 20
/** Browsers refuse more than some changes of the address per second. */
const INTERVAL = 250

/** @param {string} fragment @returns {State} */
export function parse (fragment) {
  const params = new URLSearchParams(fragment.replace(/^#/, ''))
  const oneOf = (name, values) => values.includes(params.get(name)) ? params.get(name) : null
  const offset = (name) => /^\d{1,16}$/.test(params.get(name) ?? '') ? Number(params.get(name)) : null
  return /** @type {State} */ ({
    view: oneOf('view', VIEWS) ?? 'records',
    at: offset('at'),
    seq: offset('seq'),
    q: params.get('q') ?? '',
    panel: oneOf('panel', PANELS),
    encoding: params.get('encoding') ?? '',
    block: offset('block'),
    columns: (params.get('columns') ?? '').split(',').filter(path => /^[^.]+(\.[^.]+)*$/.test(path)).slice(0, MAX_COLUMNS).join(','),
    hidden: params.get('hidden') === '1' ? '1' : ''
  })
}

/** @param {State} state */
export function format (state) {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(state)) {
    if (value !== null && value !== '') params.set(name, String(value))
  }
  return `#${params}`
}

export class Address {
  /** @param {(isForeign: boolean) => void} onChange when the state has changed, except by `note`; foreign: by the browser */
  constructor (onChange) {
    this.state = parse(window.location.hash)
    this.onChange = onChange
    this.timer = null
    window.addEventListener('popstate', () => this.follow())
    window.addEventListener('hashchange', () => this.follow())
  }

  follow () {
    if (window.location.hash === format(this.state)) return
    window.clearTimeout(this.timer)
    this.timer = null
    this.state = parse(window.location.hash)
    this.onChange(true)
  }

  /**
   * @param {Partial<State>} changes
   * @param {{ replace?: boolean }} [options] replace: the back button skips this
   */
  go (changes, { replace = false } = {}) {
    const next = format({ ...this.state, ...changes })
    this.state = parse(next)
    window.clearTimeout(this.timer)
    this.timer = null
    if (next !== window.location.hash) window.history[replace ? 'replaceState' : 'pushState'](null, '', next)
    this.onChange(false)
  }

  /** Notes what changes while one scrolls, without telling the page. @param {Partial<State>} changes */
  note (changes) {
    this.state = { ...this.state, ...changes }
    this.timer ??= window.setTimeout(() => {
      this.timer = null
      window.history.replaceState(null, '', format(this.state))
    }, INTERVAL)
  }
}
