// The list of records. Its scroll bar is the byte offset, so it scrolls over a log of any length.

import { Component, html } from './vendor/preact.js'
import { RecordWindow } from './window.js'
import { RecordRow, commonPrefix } from './row.js'
import { Scrollbar } from './scrollbar.js'
import { Glide } from './glide.js'
import { Scan } from './scan.js'
import { isOutage } from './api.js'
import { count, plural } from './format.js'

export const ROW_HEIGHT = 28
const LINE = 1
const OVERSCAN = 4
/** Width of a character of an offset, and of the column at least, in pixels. */
const DIGIT = 8
const MIN_OFFSET = 104
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
    /** What has failed: its error, and what tries it again. @type {{ error: Error, retry: () => void } | null} */
    this.failure = null
    /** Whether the end is seen, so that what is appended is to be seen, too. */
    this.isFollowing = false
    /** Offset to load from while another load for the scroll bar is in progress. */
    this.wanted = null
    this.news = 0
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
    else if (this.window.start < start) {
      this.window.trim(start)
      this.changed()
    }
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
    this.window.height = clientHeight
    if (this.isFollowing) this.window.scrollToEnd()
    this.window.clamp()
    this.changed()
  }

  start () {
    this.news = 0
    this.window.start = this.props.start
    this.window.end = this.props.end
    if (this.props.at === null && !this.props.isFiltered) this.seekEnd()
    else this.seek(this.props.at ?? this.props.start)
  }

  // Loading

  /** Shows the records from an offset on. @param {number} offset @param {{ end?: boolean, select?: boolean }} [options] end: those before it */
  seek (offset, { end = false, select = false } = {}) {
    this.isSelecting = select
    this.isFollowing = false
    this.stopLoad?.()
    this.isPaused = false
    this.failure = null
    this.wanted = null
    this.glide.stop()
    // rows stay until others come; hits of another scan do not
    this.isStale = true
    if (this.props.isFiltered) this.replace(offset, end)
    this.load(offset, end, true)
    this.setState({})
  }

  /** Like `seek`, but as often as the pointer moves: the latest offset is loaded when the load before it is done. */
  drag (offset) {
    if (this.isStale) this.wanted = offset
    else this.seek(offset)
  }

  /** Drops rows that have been waiting for others. @param {number} offset next to which these are @param {boolean} isFollowing whether it is the end */
  replace (offset, isFollowing) {
    if (!this.isStale) return
    this.window.clear(offset)
    this.isStale = false
    this.isFollowing = isFollowing
  }

  seekStart (select = false) {
    this.seek(this.window.start, { select })
  }

  seekEnd (select = false) {
    const { start, end } = this.window
    this.news = 0
    if (end > start) this.seek(end, { end: true, select })
    else this.seekStart()
  }

  /** @param {number} offset @param {boolean} reverse whether to load the records before the offset @param {boolean} isFresh whether these are the first rows */
  load (offset, reverse, isFresh) {
    const { source, onScan, onError, onBounds } = this.props
    const { scan, window: list } = this
    const load = ++this.loads
    const { start, end } = list
    const isCurrent = () => load === this.loads
    const until = scan.begin({ offset, reverse, isFresh, start, end })
    onScan?.(scan)
    const stop = source({
      from: reverse ? offset - 1 : offset,
      until,
      reverse,
      onRows: (rows, reached) => {
        if (!isCurrent()) return
        this.replace(offset, reverse)
        if (reverse) list.addBefore(rows, reached)
        else list.addAfter(rows, reached)
        if (this.isFollowing) list.scrollToEnd()
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
      onEnd: (isAll) => {
        if (!isCurrent()) return
        this.stopLoad = null
        scan.end(isAll)
        onScan?.(scan)
        if (isAll) list.reached(reverse ? start : end)
        if (this.wanted !== null) this.seek(this.wanted)
        // more than a page was appended: only the last of it is shown
        else if (this.isFollowing && !isAll && !reverse && !this.props.isFiltered) this.seekEnd()
        else this.changed()
      },
      onError: (error) => {
        if (!isCurrent()) return
        this.stopLoad = null
        this.isPaused = true
        // rows that waited for others stay where they are
        this.isStale = false
        this.failure = { error, retry: () => isFresh ? this.seek(offset, { end: reverse, select: this.isSelecting }) : this.resume() }
        this.endScan()
        onError(error)
        this.changed()
      }
    })
    this.stopLoad = () => {
      stop()
      this.loads++
      this.stopLoad = null
      this.endScan()
    }
  }

  /** A load has ended before its end. */
  endScan () {
    this.scan.stop()
    this.props.onScan?.(this.scan)
  }

  /** Loads what is missing around what is seen. */
  fill () {
    if (this.stopLoad !== null || this.isPaused) return
    const list = this.window
    if (list.lacksAfter) this.load(list.high, false, false)
    else if (list.lacksBefore) this.load(list.low, true, false)
  }

  stop () {
    this.stopLoad?.()
    this.isPaused = true
    this.changed()
  }

  resume () {
    this.isPaused = false
    this.failure = null
    this.changed()
  }

  /** The server is there again. */
  retry () {
    if (this.failure !== null && isOutage(this.failure.error)) this.failure.retry()
  }

  // Scrolling

  scrollBy (pixels) {
    if (!this.window.scrollBy(pixels)) return
    this.isFollowing = false
    this.changed()
  }

  /** Draws, loads what is missing, and notes the place in the address. */
  changed () {
    const { window: list } = this
    this.fill()
    if (list.isAtEnd && !this.isPaused && !this.isStale) {
      this.isFollowing = true
      this.news = 0
    }
    const first = list.rows[list.firstSeen]
    if (first !== undefined && !this.isStale) this.props.onPlace(first.seq)
    this.setState({})
  }

  /** The log has grown. @param {{ count: number, end: number }} news count: of new records */
  append ({ count, end }) {
    this.window.end = end
    if (!this.isFollowing || this.isPaused) {
      this.news += count
      this.scan.reachedEnd = false
    }
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
    this.isFollowing = false
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
    const list = this.window
    const { start, end } = list
    if (list.isAtEnd && list.rows.length > 0 && list.maxTop > 0) return 1
    const seq = list.rows[list.firstSeen]?.seq ?? this.wanted ?? list.low
    return end > start ? Math.max(0, Math.min(1, (seq - start) / (end - start))) : 0
  }

  /** Characters that all loaded rows start with. */
  get prefix () {
    const { rows } = this.window
    if (rows !== this.prefixed) {
      this.prefixed = rows
      this.prefixNow = commonPrefix(rows)
    }
    return this.prefixNow
  }

  render ({ seq, onOpen, label, empty, columns }, { width = '' }) {
    const { prefix } = this
    const list = this.window
    const { start, end } = list
    const from = Math.max(0, list.firstSeen - OVERSCAN)
    const seen = list.rows.slice(from, list.firstSeen + list.page + 1 + OVERSCAN)
    const isSelectedSeen = seen.some(row => row.seq === seq)
    const bytesSeen = seen.length > 0 ? seen.at(-1).seq - seen[0].seq : 0
    return html`
      <div class=${`list ${width}${columns.length > 0 ? ' columned' : ''}`} style=${{ '--offset': `${Math.max(MIN_OFFSET, count(end).length * DIGIT)}px`, '--cells': columns.length > 0 ? `repeat(${columns.length}, minmax(0, 1fr))` : '' }}>
        <div class="grid" id="records" role="grid" tabindex="0" aria-label=${label} aria-rowcount="-1" aria-readonly="true" ref=${this.grid}
          aria-activedescendant=${isSelectedSeen ? `record-${seq}` : null} aria-busy=${this.stopLoad !== null && list.rows.length === 0}
          onKeyDown=${(event) => this.onKey(event)}>
          <div class="row head" role="row">
            <span role="columnheader" class="offset">Offset</span><span role="columnheader" class="size">Size</span>
            <span role="columnheader" class="time">Time (UTC)</span>${columns.map(path => html`<span role="columnheader" key=${path} class="cell" title=${path}>${path}</span>`)}
            <span role="columnheader" class="line">Record${prefix > 0 && html` <span class="cut" title="All of these records start with this">${list.rows[0].line.slice(0, prefix)}…</span>`}</span>
          </div>
          <div class="rows" role="rowgroup" ref=${this.rows} onWheel=${(event) => this.onWheel(event)}
            onPointerDown=${(event) => this.glide.down(event)} onPointerMove=${(event) => this.glide.move(event)}
            onPointerUp=${(event) => this.glide.up(event)} onPointerCancel=${(event) => this.glide.up(event)}>
            <div class="shift" role="presentation" style=${{ transform: `translateY(${-Math.round(list.place * ROW_HEIGHT + list.top)}px)` }}>
              ${seen.map((row, index) => html`<${RecordRow} key=${row.seq} row=${row} top=${(list.place + from + index) * ROW_HEIGHT} isSelected=${row.seq === seq} onOpen=${onOpen} columns=${columns} prefix=${prefix} glide=${this.glide} />`)}
            </div>
            ${list.rows.length === 0 && html`<div role="row" class="empty"><span role="gridcell">${this.failure !== null ? this.failure.error.message : this.stopLoad === null || this.isPaused ? empty : 'Reading …'}</span></div>`}
          </div>
        </div>
        <${Scrollbar} controls="records" fraction=${this.fraction} size=${end > start ? bytesSeen / (end - start) : 1}
          start=${start} end=${end} onDrag=${(offset) => this.drag(offset)} onPage=${(pages) => this.scrollBy(pages * this.window.height)} />
        ${this.news > 0 && html`<button class="pill" onClick=${() => this.seekEnd()}>${plural(this.news, 'new record')}${this.props.isFiltered ? ', not filtered yet' : ''} ↓</button>`}
      </div>`
  }
}
