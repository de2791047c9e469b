// The list of records. Its scroll bar is the byte offset, so it scrolls over a log of any length.

import { Component, html } from './vendor/preact.js'
import { RecordWindow } from './window.js'
import { RecordRow } from './row.js'
import { Scrollbar } from './scrollbar.js'
import { Glide } from './glide.js'
import { Scan } from './scan.js'
import { plural } from './format.js'

export const ROW_HEIGHT = 28
const LINE = 1
const OVERSCAN = 4
/** Widths below which columns are left out, in pixels. A query of the container would cost more per frame. */
const WIDTHS = { narrow: 560, middling: 760 }

export class RecordList extends Component {
  constructor (props) {
    super(props)
    this.window = new RecordWindow(ROW_HEIGHT)
    /** Stops the load in progress; null: there is none. */
    this.stopLoad = null
    /** Set by the reader, or by an error: nothing is loaded until the reader asks for it. */
    this.isPaused = false
    this.hasFailed = false
    /** Offset to load from while another load for the scroll bar is in progress. */
    this.wanted = null
    this.news = 0
    this.liveEnd = 0
    this.loads = 0
    this.scan = new Scan()
    /** Whether the rows are those of another place, until a load brings others. */
    this.isStale = false
    this.glide = new Glide((pixels) => this.scrollBy(pixels))
    this.rows = { current: null }
    this.grid = { current: null }
  }

  componentDidMount () {
    this.props.listRef?.(this)
    this.observer = new window.ResizeObserver(() => this.measure())
    this.observer.observe(this.rows.current)
    this.window.height = this.rows.current.clientHeight
    this.start()
  }

  componentDidUpdate (previous) {
    const { source, start } = this.props
    if (previous.source !== source) this.start()
    else if (previous.start < start && this.window.dropBefore(start)) this.changed()
  }

  componentWillUnmount () {
    this.observer.disconnect()
    this.glide.stop()
    this.stopLoad?.()
    this.props.listRef?.(null)
  }

  measure () {
    const { clientHeight, clientWidth } = this.rows.current
    const width = Object.keys(WIDTHS).find(name => clientWidth <= WIDTHS[name]) ?? ''
    if (width !== this.state.width) this.setState({ width })
    if (clientHeight === this.window.height) return
    const wasAtEnd = this.window.isAtEnd
    this.window.height = clientHeight
    if (wasAtEnd) this.window.scrollToEnd()
    this.window.clamp()
    this.changed()
  }

  start () {
    this.news = 0
    this.liveEnd = 0
    this.seek(this.props.at ?? this.props.start)
  }

  // Loading

  /** Shows the records from an offset on. @param {number} offset @param {{ end?: boolean, select?: boolean }} [options] end: those before it */
  seek (offset, { end = false, select = false } = {}) {
    this.isSelecting = select
    this.stopLoad?.()
    this.stopLoad = null
    this.isPaused = false
    this.wanted = null
    this.glide.stop()
    // rows stay until others come; hits of another scan do not
    this.isStale = !this.props.isFiltered
    if (!this.isStale) this.window.clear()
    this.load(offset, end, true)
    this.setState({})
  }

  /** Like `seek`, but as often as the pointer moves: the latest offset is loaded when the load before it is done. */
  drag (offset) {
    if (this.isStale) this.wanted = offset
    else this.seek(offset)
  }

  /** Drops rows that have been waiting for others. */
  replace () {
    if (this.isStale) this.window.clear()
    this.isStale = false
  }

  seekStart (select = false) {
    this.seek(this.props.start, { select })
  }

  seekEnd (select = false) {
    this.news = 0
    this.seek(this.end, { end: true, select })
  }

  /** The log's end; live events tell it before the page is drawn again. */
  get end () {
    return Math.max(this.props.end, this.liveEnd)
  }

  /** @param {number} from @param {boolean} reverse @param {boolean} isFresh whether these are the first rows */
  load (from, reverse, isFresh) {
    const { source, onScan, onError, onBounds } = this.props
    const list = this.window
    const load = ++this.loads
    const { end } = this
    const isCurrent = () => load === this.loads
    const { scan } = this
    const until = scan.begin({ from, reverse, isFresh, start: this.props.start, end })
    onScan?.(scan)
    const stop = source({
      from,
      until,
      reverse,
      onRows: (rows) => {
        if (!isCurrent()) return
        this.replace()
        if (reverse) list.addBefore(rows)
        else list.addAfter(rows)
        if (isFresh && reverse) list.scrollToEnd()
        if (this.isSelecting && rows.length > 0) {
          this.isSelecting = false
          this.props.onSelect(reverse ? list.rows.at(-1).seq : list.rows[0].seq)
        }
        this.changed()
      },
      onProgress: (progress) => {
        if (!isCurrent()) return
        scan.progress(progress)
        onScan?.(scan)
      },
      onBounds,
      onEnd: (next) => {
        if (!isCurrent()) return
        this.stopLoad = null
        this.replace()
        if (reverse) {
          list.before = next
          list.isFirst = next === null
          if (isFresh && from >= end) list.isLast = true
        } else {
          // records that are appended later are all that is left to scan
          list.after = next ?? (this.props.isFiltered ? end : null)
          list.isLast = next === null
          if (isFresh && from <= this.props.start) list.isFirst = true
        }
        if (isFresh && reverse) list.scrollToEnd()
        scan.end(next)
        onScan?.(scan)
        this.loadWanted()
        this.changed()
      },
      onError: (err) => {
        if (!isCurrent()) return
        this.stopLoad = null
        this.isPaused = true
        this.hasFailed = true
        this.replace()
        this.halt()
        onError(err)
        this.changed()
      }
    })
    this.origin = isFresh ? { from, reverse } : this.origin
    this.stopLoad = () => {
      stop()
      this.loads++
      this.halt()
    }
  }

  /** A load has ended before its end: a filter goes on where it was. */
  halt () {
    const { scan } = this
    if (scan.isScanning && this.props.isFiltered && !scan.isAgain) {
      if (scan.reverse) this.window.before = scan.low - 1
      else this.window.after = scan.high
    }
    scan.stop()
    this.props.onScan?.(scan)
  }

  loadWanted () {
    const offset = this.wanted
    this.wanted = null
    if (offset !== null) this.seek(offset)
  }

  /** Loads what is missing around what is seen. */
  fill () {
    if (this.stopLoad !== null || this.isPaused) return
    const list = this.window
    if (list.lacksAfter) this.load(list.from(false) ?? this.gapEnd(), false, false)
    else if (list.lacksBefore) this.load(Math.max(0, list.from(true) ?? this.gapStart()), true, false)
  }

  /** Where to go on if nothing has been found. */
  gapEnd () {
    if (this.props.isFiltered) return this.scan.high
    return this.origin.reverse ? this.origin.from + 1 : this.origin.from
  }

  gapStart () {
    return (this.props.isFiltered ? this.scan.low : this.origin.from) - 1
  }

  stop () {
    this.stopLoad?.()
    this.stopLoad = null
    this.isPaused = true
    this.changed()
  }

  resume () {
    this.isPaused = this.hasFailed = false
    this.changed()
  }

  /** The server is there again. */
  retry () {
    if (this.hasFailed) this.resume()
  }

  // Scrolling

  scrollBy (pixels) {
    if (!this.window.scrollBy(pixels)) return
    this.changed()
  }

  /** Draws, loads what is missing, and notes the place in the address. */
  changed () {
    const { window: list } = this
    this.fill()
    if (list.isAtEnd && !this.isPaused) this.news = 0
    const first = list.rows[list.firstSeen]
    if (first !== undefined && !this.isStale) this.props.onPlace(first.seq)
    this.setState({})
  }

  /** New records at the end. @param {{ rows: import('./window.js').Row[], count: number }} appended */
  append ({ rows, count, end }) {
    const list = this.window
    this.liveEnd = end
    this.scan.reachedEnd = false
    const follows = list.isAtEnd && !this.isPaused && this.stopLoad === null
    if (!follows) {
      this.news += count
      list.isLast = false
      if (list.rows.length === 0) this.origin = { from: list.after ?? this.end, reverse: false }
      this.setState({})
      return
    }
    if (this.props.isFiltered) {
      list.isLast = false
    } else if (rows.length === count) {
      list.addAfter(rows)
      list.scrollToEnd()
    } else return this.seekEnd()
    this.changed()
  }

  /** Selects a row, the one that is so many rows after the selected one. */
  move (step) {
    const list = this.window
    if (list.rows.length === 0) return
    const index = list.indexOf(this.props.seq)
    const next = index === -1 ? list.firstSeen + (step > 0 ? 0 : list.page - 1) : index + step
    this.select(Math.max(0, Math.min(list.rows.length - 1, next)))
  }

  select (index) {
    const row = this.window.rows[index]
    if (row === undefined) return
    this.window.reveal(index)
    this.props.onSelect(row.seq)
    this.changed()
  }

  onKey (event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const { page } = this.window
    const actions = {
      ArrowDown: () => this.move(1),
      ArrowUp: () => this.move(-1),
      PageDown: () => this.move(page - 1),
      PageUp: () => this.move(1 - page),
      ' ': () => this.scrollBy((event.shiftKey ? -1 : 1) * (page - 1) * ROW_HEIGHT),
      Home: () => this.seekStart(true),
      End: () => this.seekEnd(true)
    }
    if (actions[event.key] === undefined) return
    event.preventDefault()
    actions[event.key]()
  }

  onWheel (event) {
    if (event.ctrlKey) return
    const unit = event.deltaMode === 0 ? 1 : event.deltaMode === LINE ? ROW_HEIGHT : this.window.height
    this.scrollBy(event.deltaY * unit)
  }

  /** Share of the log that is before what is seen, 0 to 1. */
  get fraction () {
    const { start } = this.props
    const { end } = this
    const list = this.window
    if (list.isAtEnd && list.rows.length > 0 && list.maxTop > 0) return 1
    const seq = list.rows[list.firstSeen]?.seq ?? this.wanted ?? this.origin?.from ?? start
    return end > start ? Math.max(0, Math.min(1, (seq - start) / (end - start))) : 0
  }

  render ({ start, seq, onOpen, label, empty }, { width = '' }) {
    const { end } = this
    const list = this.window
    const from = Math.max(0, list.firstSeen - OVERSCAN)
    const seen = list.rows.slice(from, list.firstSeen + list.page + 1 + OVERSCAN)
    const isSelectedSeen = seen.some(row => row.seq === seq)
    const bytesSeen = seen.length > 0 ? seen.at(-1).seq - seen[0].seq : 0
    return html`
      <div class=${`list ${width}`}>
        <div class="grid" id="records" role="grid" tabindex="0" aria-label=${label} aria-rowcount="-1" aria-readonly="true" ref=${this.grid}
          aria-activedescendant=${isSelectedSeen ? `record-${seq}` : null} aria-busy=${this.stopLoad !== null && list.rows.length === 0}
          onKeyDown=${(event) => this.onKey(event)}>
          <div class="row head" role="row">
            <span role="columnheader" class="offset">Offset</span><span role="columnheader" class="size">Size</span>
            <span role="columnheader" class="time">Time (UTC)</span><span role="columnheader" class="line">Record</span>
          </div>
          <div class="rows" role="rowgroup" ref=${this.rows} onWheel=${(event) => this.onWheel(event)}
            onPointerDown=${(event) => this.glide.down(event)} onPointerMove=${(event) => this.glide.move(event)}
            onPointerUp=${(event) => this.glide.up(event)} onPointerCancel=${(event) => this.glide.up(event)}>
            <div class="shift" role="presentation" style=${{ transform: `translateY(${-Math.round(list.place * ROW_HEIGHT + list.top)}px)` }}>
              ${seen.map((row, index) => html`<${RecordRow} key=${row.seq} row=${row} top=${(list.place + from + index) * ROW_HEIGHT} isSelected=${row.seq === seq} onOpen=${onOpen} glide=${this.glide} />`)}
            </div>
            ${list.rows.length === 0 && html`<div role="row" class="empty"><span role="gridcell">${this.stopLoad === null || this.isPaused ? empty : 'Reading …'}</span></div>`}
          </div>
        </div>
        <${Scrollbar} controls="records" fraction=${this.fraction} size=${end > start ? bytesSeen / (end - start) : 1}
          start=${start} end=${end} onDrag=${(offset) => this.drag(offset)} onPage=${(pages) => this.scrollBy(pages * this.window.height)} />
        ${this.news > 0 && html`<button class="pill" onClick=${() => this.seekEnd()}>${plural(this.news, 'new record')}${this.props.isFiltered ? ', not filtered yet' : ''} ↓</button>`}
      </div>`
  }
}
