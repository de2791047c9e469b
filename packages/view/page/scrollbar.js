import { Component, html } from './vendor/preact.js'
import { count, percent } from './format.js'

const MIN_THUMB = 0.04

/** A scroll bar over byte offsets: where its thumb is, is where in the file the records are. */
export class Scrollbar extends Component {
  constructor (props) {
    super(props)
    this.track = { current: null }
  }

  /** Height of the thumb, as a share of the track. */
  get thumb () {
    return Math.min(1, Math.max(MIN_THUMB, this.props.size))
  }

  down (event) {
    if (event.button !== 0) return
    event.preventDefault()
    const { top, height } = this.track.current.getBoundingClientRect()
    const thumbTop = this.props.fraction * (1 - this.thumb) * height
    const y = event.clientY - top
    const isOnThumb = y >= thumbTop && y <= thumbTop + this.thumb * height
    this.grip = isOnThumb ? y - thumbTop : this.thumb * height / 2
    this.track.current.setPointerCapture(event.pointerId)
    this.setState({ dragged: this.props.fraction })
    if (!isOnThumb) this.move(event)
  }

  move (event) {
    if (!this.track.current.hasPointerCapture(event.pointerId)) return
    const { top, height } = this.track.current.getBoundingClientRect()
    const room = (1 - this.thumb) * height
    const fraction = room > 0 ? Math.max(0, Math.min(1, (event.clientY - top - this.grip) / room)) : 0
    const { start, end, onDrag } = this.props
    this.setState({ dragged: fraction })
    onDrag(Math.round(start + fraction * (end - start)))
  }

  render ({ controls, fraction, start, end }, { dragged = null }) {
    const shown = dragged ?? fraction
    const offset = Math.round(start + shown * (end - start))
    const label = `offset ${count(offset)}, ${percent(shown)}`
    return html`
      <div class="scrollbar" role="scrollbar" aria-controls=${controls} aria-orientation="vertical" aria-label="Place in the log" ref=${this.track}
        aria-valuemin="0" aria-valuemax="100" aria-valuenow=${Math.round(shown * 100)} aria-valuetext=${label}
        onPointerDown=${(event) => this.down(event)} onPointerMove=${(event) => this.move(event)}
        onLostPointerCapture=${() => this.setState({ dragged: null })}>
        <div class="rail" style=${{ transform: `translateY(${shown * (1 - this.thumb) * 100}%)` }}><div class="thumb" style=${{ height: `${this.thumb * 100}%` }}></div></div>
        ${dragged !== null && html`<div class="bubble" style=${{ top: `${(shown * (1 - this.thumb) + this.thumb / 2) * 100}%` }}>${count(offset)} · ${percent(shown, 1)}</div>`}
      </div>`
  }
}
