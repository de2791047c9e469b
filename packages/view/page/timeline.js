// When the records were made: a histogram over time, which is a scroll bar, too. It is computed from samples of some blocks.

import { Component, html } from './vendor/preact.js'
import { contextOf, palette } from './theme.js'
import { plural, time } from './format.js'

const HEIGHT = 36
/** Pixels of a bar, with the gap behind it. */
const BAR = 6
/** Share of the span that an arrow key goes. */
const STEP = 0.01

/** Records by time: a line between each two samples. */
export class TimeScale {
  /** @param {{ records: number, samples: { offset: number, time: number }[], start: number, end: number }} overview */
  constructor ({ records, samples, start, end }) {
    // where a log is not sorted by time, the line goes on at the latest time so far
    this.samples = []
    for (const { offset, time } of samples) this.samples.push({ offset, time: Math.max(time, this.samples.at(-1)?.time ?? -Infinity) })
    this.from = this.samples[0]?.time ?? 0
    this.to = this.samples.at(-1)?.time ?? 0
    this.recordsPerByte = end > start ? records / (end - start) : 0
  }

  get isEmpty () {
    return this.samples.length < 2 || this.to <= this.from
  }

  /** @param {number} time @returns {number} offset of the records of that time */
  offsetAt (time) {
    return between(this.samples, 'time', 'offset', time)
  }

  /** @param {number} offset */
  timeAt (offset) {
    return between(this.samples, 'offset', 'time', offset)
  }

  /** @param {number} bars @returns {number[]} records in each of them */
  histogram (bars) {
    const width = (this.to - this.from) / bars
    return Array.from({ length: bars }, (_, i) => (this.offsetAt(this.from + (i + 1) * width) - this.offsetAt(this.from + i * width)) * this.recordsPerByte)
  }
}

function between (samples, by, wanted, value) {
  const next = samples.findIndex(sample => sample[by] > value)
  if (next === 0) return samples[0][wanted]
  if (next === -1) return samples.at(-1)[wanted]
  const [a, b] = [samples[next - 1], samples[next]]
  return a[wanted] + (value - a[by]) / (b[by] - a[by]) * (b[wanted] - a[wanted])
}

/** Props: overview; offset of what is seen; onDrag(offset). */
export class Timeline extends Component {
  constructor (props) {
    super(props)
    this.canvas = { current: null }
    this.draw = () => this.paint()
  }

  componentDidMount () {
    window.addEventListener('themechange', this.draw)
    this.observer = new window.ResizeObserver(this.draw)
    this.observer.observe(this.canvas.current.parentElement)
    this.paint()
  }

  componentDidUpdate ({ overview }) {
    if (overview !== this.props.overview) this.paint()
  }

  componentWillUnmount () {
    window.removeEventListener('themechange', this.draw)
    this.observer.disconnect()
  }

  get scale () {
    if (this.scaled !== this.props.overview) {
      this.scaled = this.props.overview
      this.scaleNow = new TimeScale(this.scaled)
    }
    return this.scaleNow
  }

  paint () {
    const canvas = this.canvas.current
    const width = canvas.parentElement.clientWidth
    const context = contextOf(canvas, width, HEIGHT)
    const bars = this.scale.histogram(Math.max(1, Math.floor(width / BAR)))
    const most = Math.max(...bars)
    context.fillStyle = palette(['records']).records
    bars.forEach((records, i) => {
      // one record is seen, too
      const height = records > 0 ? Math.max(1, records / most * HEIGHT) : 0
      context.fillRect(i * width / bars.length, HEIGHT - height, width / bars.length - 1, height)
    })
  }

  move (event) {
    const { left, width } = this.canvas.current.getBoundingClientRect()
    this.go((event.clientX - left) / width)
  }

  /** @param {number} share of the span */
  go (share) {
    const { from, to } = this.scale
    const at = from + Math.min(1, Math.max(0, share)) * (to - from)
    this.setState({ dragged: at })
    this.props.onDrag(Math.round(this.scale.offsetAt(at)))
  }

  onKey (event, share) {
    const next = { ArrowLeft: share - STEP, ArrowRight: share + STEP, ArrowDown: share - STEP, ArrowUp: share + STEP, PageDown: share - 10 * STEP, PageUp: share + 10 * STEP, Home: 0, End: 1 }[event.key]
    if (next === undefined) return
    event.preventDefault()
    event.stopPropagation()
    this.go(next)
  }

  render ({ overview, offset }, { dragged = null }) {
    const { from, to } = this.scale
    const at = dragged ?? this.scale.timeAt(offset)
    const share = (at - from) / (to - from)
    return html`
      <div class="timeline" role="slider" tabindex="0" aria-label="Time" aria-orientation="horizontal" aria-valuemin="0" aria-valuemax="100" aria-valuenow=${Math.round(share * 100)} aria-valuetext=${time(at)}
        title=${`Records by time, estimated from ${plural(overview.samples.length, 'block')}`}
        onPointerDown=${(event) => { if (event.button === 0) { event.currentTarget.setPointerCapture(event.pointerId); this.move(event) } }}
        onPointerMove=${(event) => { if (event.currentTarget.hasPointerCapture(event.pointerId)) this.move(event) }}
        onLostPointerCapture=${() => this.setState({ dragged: null })} onBlur=${() => this.setState({ dragged: null })} onKeyDown=${(event) => this.onKey(event, share)}>
        <canvas ref=${this.canvas} aria-hidden="true"></canvas>
        <div class="here" style=${{ left: `${share * 100}%` }}></div>
        ${dragged !== null && html`<div class=${share > 0.5 ? 'bubble left' : 'bubble'} style=${{ left: `${share * 100}%` }}>${time(at)}</div>`}
      </div>`
  }
}
