// The map of blocks: a canvas as large as what is seen of it, which is drawn again as one scrolls.

import { Component, html } from './vendor/preact.js'
import { describe } from './block-cells.js'
import { contextOf, palette } from './theme.js'

const CELL = 16
const GAP = 3
/** Around the cells, for the frame of the selected one. */
const EDGE = 2
/** Browsers limit the height of elements; a map that is higher scrolls in larger steps. */
const MAX_HEIGHT = 8e6
const COLOURS = ['records', 'deleted', 'hole', 'tail', 'corrupt', 'trimmed', 'unknown', 'surface', 'ink']

export class BlockMap extends Component {
  constructor (props) {
    super(props)
    this.box = { current: null }
    this.canvas = { current: null }
    this.state = { width: 0, height: 0, hovered: null }
    this.redraw = () => this.draw(true)
  }

  componentDidMount () {
    this.observer = new window.ResizeObserver(() => this.measure())
    this.observer.observe(this.box.current)
    window.addEventListener('themechange', this.redraw)
    this.measure()
  }

  componentDidUpdate ({ selected }) {
    if (selected !== this.props.selected) this.reveal()
    this.draw()
  }

  componentWillUnmount () {
    this.observer.disconnect()
    window.removeEventListener('themechange', this.redraw)
  }

  measure () {
    const { clientWidth: width, clientHeight: height } = this.box.current
    const isFirst = this.state.width === 0
    this.setState({ width, height }, () => { if (isFirst) this.reveal() })
  }

  get columns () {
    return Math.max(1, Math.floor((this.state.width - 2 * EDGE + GAP) / (CELL + GAP)))
  }

  get lines () {
    return Math.ceil(this.props.total / this.columns)
  }

  get fullHeight () {
    return this.lines * (CELL + GAP) + 2 * EDGE
  }

  /** Pixels of the map that are above what is seen. */
  get top () {
    const { scrollTop, scrollHeight, clientHeight } = this.box.current
    const room = scrollHeight - clientHeight
    return this.fullHeight <= MAX_HEIGHT || room <= 0 ? scrollTop : scrollTop / room * (this.fullHeight - clientHeight)
  }

  reveal () {
    const { selected } = this.props
    const box = this.box.current
    if (selected === null || box === null) return
    const top = Math.floor(selected / this.columns) * (CELL + GAP)
    if (top >= this.top && top + CELL <= this.top + box.clientHeight) return
    const target = Math.max(0, top - box.clientHeight / 2)
    box.scrollTop = this.fullHeight <= MAX_HEIGHT ? target : target / (this.fullHeight - box.clientHeight) * (box.scrollHeight - box.clientHeight)
  }

  draw (isThemeNew = false) {
    const { width, height, hovered } = this.state
    if (width === 0 || height === 0 || this.canvas.current === null) return
    if (isThemeNew || this.colours === undefined) this.colours = palette(COLOURS)
    const { cells, total, selected } = this.props
    const { colours, columns, top } = this
    const context = contextOf(this.canvas.current, width, height)
    const firstLine = Math.floor(top / (CELL + GAP))
    const lastLine = Math.ceil((top + height) / (CELL + GAP))
    const [from, to] = [firstLine * columns, Math.min(total, lastLine * columns)]
    cells.want(from, to)
    for (let block = from; block < to; block++) {
      const x = EDGE + block % columns * (CELL + GAP)
      const y = EDGE + Math.floor(block / columns) * (CELL + GAP) - top
      drawCell(context, x, y, cells.get(block), colours)
      if (block === selected || block === hovered) {
        context.strokeStyle = colours.ink
        context.lineWidth = 2
        context.strokeRect(x - 1, y - 1, CELL + 2, CELL + 2)
      }
    }
  }

  blockAt ({ offsetX, offsetY }) {
    const column = Math.floor((offsetX - EDGE) / (CELL + GAP))
    const block = Math.floor((offsetY - EDGE + this.top) / (CELL + GAP)) * this.columns + column
    return column >= 0 && column < this.columns && block >= 0 && block < this.props.total ? block : null
  }

  onKey (event) {
    const { total, selected, onBlock } = this.props
    const page = this.columns * Math.max(1, Math.floor(this.state.height / (CELL + GAP)))
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns, PageDown: page, PageUp: -page, Home: -total, End: total }
    const step = steps[event.key]
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    onBlock(selected === null ? 0 : Math.max(0, Math.min(total - 1, selected + step)))
  }

  render ({ cells, total, selected, onBlock }, { hovered }) {
    const shown = hovered ?? selected
    return html`
      <p class="hint mono">${shown === null ? 'Point at a block, or use the arrow keys.' : describe(shown, cells.get(shown))}</p>
      <div class="map" tabindex="0" role="slider" aria-label="Block" aria-valuemin="0" aria-valuemax=${total - 1} aria-valuenow=${selected ?? 0}
        aria-valuetext=${selected === null ? 'No block is selected' : describe(selected, cells.get(selected))} ref=${this.box}
        onScroll=${() => this.draw()} onKeyDown=${(event) => this.onKey(event)}>
        <div class="spacer" style=${{ height: `${Math.min(MAX_HEIGHT, this.fullHeight)}px` }}>
          <canvas ref=${this.canvas} onPointerMove=${(event) => this.hover(this.blockAt(event))} onPointerLeave=${() => this.hover(null)}
            onClick=${(event) => { const block = this.blockAt(event); if (block !== null) onBlock(block) }}></canvas>
        </div>
      </div>`
  }

  hover (hovered) {
    if (hovered !== this.state.hovered) this.setState({ hovered })
  }
}

/** @param {CanvasRenderingContext2D} context @param {import('./block-cells.js').Cell | undefined} cell */
function drawCell (context, x, y, cell, colours) {
  const kind = cell?.kind ?? 'unknown'
  context.fillStyle = colours.surface
  context.fillRect(x, y, CELL, CELL)
  if (kind === 'hole' || kind === 'trimmed' || kind === 'unknown') {
    context.strokeStyle = colours[kind]
    context.lineWidth = 1
    context.setLineDash(kind === 'hole' ? [2, 2] : [])
    context.strokeRect(x + 0.5, y + 0.5, CELL - 1, CELL - 1)
    context.setLineDash([])
    return
  }
  context.globalAlpha = 0.25
  context.fillStyle = colours[kind]
  context.fillRect(x, y, CELL, CELL)
  context.globalAlpha = 1
  if (kind === 'corrupt') context.fillRect(x, y, CELL, CELL)
  else {
    // from the bottom: records, and above them what is deleted, by their numbers
    const filled = Math.round(cell.fill * CELL)
    context.fillRect(x, y + CELL - filled, CELL, filled)
    const share = cell.records === 0 ? CELL : Math.min(CELL - filled, filled * cell.deleted / cell.records)
    if (cell.deleted > 0) {
      const height = Math.min(CELL, Math.max(2, Math.round(share)))
      context.fillStyle = colours.deleted
      context.fillRect(x, y + Math.max(0, CELL - filled - height), CELL, height)
    }
  }
  if (kind === 'corrupt' || cell.checksum === false) {
    context.strokeStyle = colours.surface
    context.lineWidth = 2
    context.beginPath()
    context.moveTo(x + 4, y + 4)
    context.lineTo(x + CELL - 4, y + CELL - 4)
    context.moveTo(x + CELL - 4, y + 4)
    context.lineTo(x + 4, y + CELL - 4)
    context.stroke()
  }
}
