// The page of `flumelog view`. What it shows is in its address; what it reads is in README.md, "The interface".

import { Component, html, render } from './vendor/preact.js'
import { Address } from './address.js'
import { get, isOutage } from './api.js'
import { Bar, Footer, emptyOf } from './bar.js'
import { columnsIn } from './columns.js'
import { and } from './conditions.js'
import { Help } from './help.js'
import { RecordList } from './list.js'
import { Live } from './live.js'
import { Numbers } from './numbers.js'
import { RecordPanel } from './record.js'
import { Shelf } from './shelf.js'
import { Scan } from './scan.js'
import { TimeScale, Timeline } from './timeline.js'
import { allRecords, matching } from './sources.js'
import { THEMES, applyTheme, setTheme, theme } from './theme.js'
import { tokenParameter } from './token.js'
import { bytes, visible } from './format.js'

const VIEWS = { records: 'Records', shelf: 'Shelf', numbers: 'Numbers' }
/** Samples of the append rate, one per second. */
const MAX_SAMPLES = 600
/** Share by which a log grows until it is looked at again for its overview. */
const GROWTH = 0.05

class App extends Component {
  constructor (props) {
    super(props)
    this.address = new Address((isForeign) => this.moved(isForeign))
    this.state = { log: null, overview: null, isPaused: false, valuePath: null, error: null, samples: [], isLive: false, scan: new Scan(), hasHelp: false, theme: theme() }
    this.list = null
    /** How often all records were replaced by others. */
    this.replacements = 0
    this.panel = this.address.state.panel ?? 'tree'
    this.onPlace = (at) => {
      this.address.note({ at })
      this.setState({ place: at })
    }
    this.onError = (error) => this.setState({ error })
    this.onScan = (scan) => this.setState({ scan })
    this.onOpen = (row, path) => this.openRow(row, path)
    this.onBounds = (bounds) => this.bounded(bounds)
    this.listRef = (list) => { this.list = list }
  }

  componentDidMount () {
    window.addEventListener('keydown', (event) => this.onKey(event))
    window.addEventListener('answered', () => { if (this.state.error !== null && isOutage(this.state.error)) this.setState({ error: null }) })
    // brought back by the Back button: its requests were given up
    window.addEventListener('pageshow', ({ persisted }) => { if (persisted) window.location.reload() })
    this.load()
  }

  async load () {
    try {
      const log = await get('log')
      document.title = `${visible(log.name)} · flumelog`
      this.setState({ log })
      this.loadOverview()
      new Live({
        onNews: (news) => this.appended(news),
        onSample: (sample) => this.setState(({ samples }) => ({ samples: [...samples.slice(1 - MAX_SAMPLES), sample] })),
        onStatus: (isLive) => this.setState({ isLive }),
        onError: this.onError
      }).follow(log)
    } catch (error) {
      this.setState({ error })
    }
  }

  /** Number of records, and their times; again when the log has grown. */
  async loadOverview () {
    if (this.isLooking) return
    this.isLooking = true
    try {
      const overview = await get('overview', { encoding: this.address.state.encoding })
      this.setState({ overview: new TimeScale(overview).isEmpty ? { ...overview, samples: overview.samples.slice(0, 1) } : overview })
    } catch (error) {
      this.onError(error)
    }
    this.isLooking = false
  }

  /** What is appended is not shown until the reader goes on. */
  pause () {
    const { held } = this
    this.held = null
    this.setState(({ isPaused }) => ({ isPaused: !isPaused }), () => { if (held) this.appended(held) })
  }

  /** @param {{ id: string, start: number, end: number, count: number }} news of the log */
  appended ({ id, start, end, count }) {
    const { log, overview, isPaused } = this.state
    if (id !== log.id || end < log.end) return this.replaced()
    if (isPaused && end > log.end) {
      this.held = { id, start, end, count: count + (this.held?.count ?? 0) }
      return
    }
    if (overview !== null && end - overview.end > GROWTH * (end - start)) this.loadOverview()
    if (start !== log.start || end !== log.end) this.setState({ log: { ...log, start, end } })
    if (end > this.list?.window.end) this.list.append({ count, end })
    this.list?.retry()
  }

  async replaced () {
    try {
      const log = await get('log')
      this.replacements++
      this.held = null
      this.loadOverview()
      this.setState({ log, error: new Error('The log was compacted, replaced or truncated: these are its records now.') })
      this.address.go({ at: null, seq: null, block: null, panel: null }, { replace: true })
    } catch (error) {
      this.setState({ error })
    }
  }

  /** Another address: of the browser's, or made here. */
  moved (isForeign) {
    const { at, panel } = this.address.state
    if (panel !== null) this.panel = panel
    const source = this.source
    this.setState({}, () => {
      // with another source, the list starts by itself
      if (!isForeign || this.list === null || source !== this.source) return
      if (at === null) this.list.seekEnd()
      else this.list.seek(at)
    })
  }

  /** @returns {import('./sources.js').Source} the same as long as it gives the same rows */
  get source () {
    const { q, encoding, columns, hidden } = this.address.state
    const key = JSON.stringify([q, encoding, columns, hidden, this.replacements])
    if (key !== this.sourceKey) {
      this.sourceKey = key
      this.sourceNow = q === '' ? allRecords({ encoding, columns, hidden }) : matching(q, { encoding, columns })
    }
    return this.sourceNow
  }

  bounded ({ start, warning }) {
    const { log } = this.state
    // once: it may be dismissed
    if (warning !== null && warning !== this.warning) this.setState({ error: new Error(warning) })
    this.warning = warning
    if (start !== log.start) this.setState({ log: { ...log, start } })
  }

  go (changes, options) {
    if (this.state.error !== null) this.setState({ error: null })
    this.address.go(changes, options)
  }

  open (seq, path = null) {
    this.setState({ valuePath: path })
    this.go({ seq, panel: path === null ? this.panel : 'tree' })
  }

  /** A record opens beside the list, a corrupt block on the shelf. @param {import('./window.js').Row} row */
  openRow ({ seq, corrupt }, path = null) {
    if (corrupt) this.go({ view: 'shelf', seq, block: Math.floor(seq / this.state.log.blockSize) })
    else this.open(seq, path)
  }

  close () {
    this.go({ panel: null, block: null })
    this.list?.grid.current?.focus()
    document.querySelector('.map')?.focus()
  }

  /** @param {string} q empty: the list stays where it is */
  filter (q) {
    const { seq, at } = this.address.state
    this.go({ q, at: q === '' ? seq ?? at : null })
  }

  /** Shows a record in the list. */
  show (seq, changes = {}) {
    this.go({ view: 'records', seq, at: seq, panel: this.panel, ...changes })
    if (this.list !== null && changes.q === undefined) this.list.seek(seq)
  }

  async jump (target) {
    const field = document.activeElement
    try {
      const { seq, warning } = await get('find', { ...target, encoding: this.address.state.encoding })
      this.go({ seq, at: seq })
      if (target.at === 'end') this.list.seekEnd()
      else this.list.seek(seq)
      // not away from what is being typed by then
      if (document.activeElement === field) this.list.grid.current.focus()
      if (warning !== null) this.setState({ error: new Error(warning) })
    } catch (error) {
      this.setState({ error })
    }
  }

  onKey (event) {
    const { view, panel, block, seq, q } = this.address.state
    const isTyping = event.target.closest('input, select, textarea, dialog') !== null
    if (event.key === 'Escape' && !event.defaultPrevented) {
      if (isTyping) event.target.blur()
      else if (this.state.error !== null) this.setState({ error: null })
      else if (panel !== null || block !== null) this.close()
      else if (view === 'records' && q !== '') this.filter('')
      return
    }
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
    const isList = view === 'records' && this.list !== null
    const actions = {
      '?': () => this.setState({ hasHelp: true }),
      1: () => this.go({ view: 'records' }),
      2: () => this.openShelf(),
      3: () => this.go({ view: 'numbers' }),
      ...(isList && {
        j: () => this.list.move(1),
        k: () => this.list.move(-1),
        g: () => this.list.seekStart(true),
        G: () => this.list.seekEnd(true),
        '/': () => document.getElementById('filter').select(),
        ':': () => document.getElementById('jump').select()
      })
    }
    const isOnList = event.target === document.body || event.target === this.list?.grid.current
    if (isList && isOnList && event.key === 'Enter' && seq !== null) actions.Enter = () => this.openByKey(seq)
    if (actions[event.key] !== undefined) {
      event.preventDefault()
      actions[event.key]()
    } else if (isList && event.target === document.body) this.list.onKey(event)
  }

  openShelf () {
    this.go({ view: 'shelf' })
    window.requestAnimationFrame(() => document.querySelector('.map')?.focus())
  }

  openByKey (seq) {
    this.openRow(this.list.window.rows.find(row => row.seq === seq) ?? { seq })
    window.requestAnimationFrame(() => document.querySelector('.panel')?.focus())
  }

  render (_, { log, overview, isPaused, counted, error, hasHelp, theme: chosen, isLive }) {
    const { state } = this.address
    return html`
      <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.getElementById('main').focus() }}>Skip to the content</a>
      <header class="top">
        ${log?.isListed && html`<a href=${`../?${new URLSearchParams(tokenParameter())}`}>Logs</a>`}
        <h1 title="flumelog view">${visible(log?.name ?? 'flumelog')}${log !== null && html` <small>${bytes(log.end - log.start)}</small>`}</h1>
        <nav aria-label="Views">${Object.entries(VIEWS).map(([view, name]) => html`
          <a key=${view} href=${`#view=${view}`} aria-current=${state.view === view ? 'page' : null} onClick=${(event) => { event.preventDefault(); this.go({ view }) }}>${name}</a>`)}</nav>
        <label class="theme"><span class="sr">Colours</span>
          <select value=${chosen} onChange=${(event) => { setTheme(event.target.value); this.setState({ theme: event.target.value }) }}>
            ${Object.entries(THEMES).map(([key, name]) => html`<option key=${key} value=${key}>${name}</option>`)}
          </select></label>
        <button class="quiet" aria-label="Help: keys" title="Keys (?)" onClick=${() => this.setState({ hasHelp: true })}>?</button>
      </header>
      ${error !== null && html`<div class="toast" role="alert"><span>${error.message}</span><button class="quiet" aria-label="Dismiss" onClick=${() => this.setState({ error: null })}>✕</button></div>`}
      <main id="main" tabindex="-1">${log !== null && this.viewOf(state)}</main>
      ${log !== null && html`<${Footer} log=${log} counted=${counted?.id === log.id ? counted : null} overview=${overview} status=${isLive ? 'live' : 'off'} isPaused=${isPaused} onPause=${() => this.pause()} />`}
      ${hasHelp && html`<${Help} onClose=${() => this.setState({ hasHelp: false })} />`}`
  }

  viewOf (state) {
    const { log, samples } = this.state
    if (state.view === 'numbers') {
      return html`<${Numbers} log=${log} onCounted=${({ records, size }) => this.setState({ counted: { id: log.id, records, size } })} samples=${samples} onError=${this.onError} onRecord=${(seq) => this.show(seq)} onBlock=${(block) => this.go({ view: 'shelf', block })} />`
    }
    if (state.view === 'shelf') {
      return html`<${Shelf} log=${log} block=${state.block} onError=${this.onError} onBlock=${(block) => this.go({ block }, { replace: true })} onClose=${() => this.close()} onRecord=${(seq) => this.show(seq, { q: '' })} />`
    }
    return this.records(state)
  }

  records (state) {
    const { log, scan, overview, place = 0, valuePath } = this.state
    const columns = columnsIn(state.columns)
    const hasPanel = state.panel !== null && state.seq !== null
    return html`
      <${Bar} state=${state} log=${log} scan=${scan} onError=${this.onError} onJump=${(target) => this.jump(target)}
        onFilter=${(q) => this.filter(q)} onEncoding=${(encoding) => this.go({ encoding })} onColumns=${(columns) => this.go({ columns })} onHide=${(hidden) => this.go({ hidden })}
        onStop=${() => this.list.stop()} onResume=${() => this.list.resume()} />
      ${overview?.samples.length > 1 && state.q === '' && html`<${Timeline} overview=${overview} offset=${place} onDrag=${(offset) => this.list.drag(offset)} />`}
      <div class=${hasPanel ? 'split open' : 'split'}>
        <${RecordList} source=${this.source} at=${state.at ?? state.seq} seq=${state.seq} start=${log.start} end=${log.end} isFiltered=${state.q !== ''} columns=${columns} listRef=${this.listRef}
          label=${state.q === '' ? 'Records' : 'Records that match the filter'} empty=${state.q === '' ? 'The log has no records here.' : emptyOf(scan, state.q)}
          onSelect=${(seq) => this.go({ seq }, { replace: true })} onOpen=${this.onOpen} onPlace=${this.onPlace} onScan=${state.q === '' ? null : this.onScan} onError=${this.onError} onBounds=${this.onBounds} />
        ${hasPanel && html`<${RecordPanel} path=${valuePath} onFilter=${(condition) => this.filter(and(state.q, condition))} onColumn=${(path) => this.go({ columns: [...new Set([...columns, path])].join(',') })} seq=${state.seq} panel=${state.panel} encoding=${state.encoding} onPanel=${(panel) => this.go({ panel }, { replace: true })} onClose=${() => this.close()}
          onSelect=${(seq) => this.select(seq)} onBlock=${(event, record) => { event.preventDefault(); this.go({ view: 'shelf', block: record.block }) }} onContext=${state.q === '' ? null : (seq) => this.show(seq, { q: '' })} />`}
      </div>`
  }

  /** Selects a record that may not be loaded. */
  select (seq) {
    const index = this.list.window.indexOf(seq)
    if (index !== -1) return this.list.select(index)
    this.go({ seq }, { replace: true })
    this.list.seek(seq)
  }
}

applyTheme()
render(html`<${App} />`, document.getElementById('app'))
