// The records of one block as books, as wide as they are long, on as many boards as they need.

import { Component, html } from './vendor/preact.js'
import { contextOf, palette } from './theme.js'
import { count } from './format.js'

const BOARD = 54
const FLOOR = 5
/** Width that a book of middling length should have, in pixels. */
const BOOK = 24
const MAX_BOARDS = 40
const SPINES = 5
const COLOURS = ['book-0', 'book-1', 'book-2', 'book-3', 'book-4', 'board', 'deleted', 'padding', 'ink', 'surface', 'accent', 'corrupt']

export class Books extends Component {
  constructor (props) {
    super(props)
    this.box = { current: null }
    this.canvas = { current: null }
    this.state = { width: 0, hovered: null }
    this.redraw = () => this.draw(true)
  }

  componentDidMount () {
    this.observer = new window.ResizeObserver(() => this.setState({ width: this.box.current.clientWidth }))
    this.observer.observe(this.box.current)
    window.addEventListener('themechange', this.redraw)
    this.setState({ width: this.box.current.clientWidth })
  }

  componentDidUpdate ({ position }) {
    this.draw()
    if (position !== this.props.position) this.reveal()
  }

  componentWillUnmount () {
    this.observer.disconnect()
    window.removeEventListener('themechange', this.redraw)
  }

  /** What stands on the shelf: records, what cannot be read, and the padding as the last. */
  get items () {
    const { records, padding, unreadable } = this.props.block
    const items = [...records]
    if (unreadable !== undefined) items.push({ ...unreadable, isUnreadable: true })
    if (padding !== null) items.push({ ...padding, isPadding: true })
    return items
  }

  layout () {
    const { block } = this.props
    const width = Math.max(1, this.state.width)
    const size = Math.max(1, block.end - block.start)
    const lengths = block.records.map(({ length }) => length + 4).sort((a, b) => a - b)
    const middling = lengths[lengths.length >> 1] ?? size
    const scale = Math.min(BOOK / middling, MAX_BOARDS * width / size, 16)
    const boards = Math.max(1, Math.ceil(size * scale / width))
    return { width, scale: boards === 1 ? Math.min(scale, width / size) : scale, boards }
  }

  /** @param {{ position: number, length: number, isPadding?: boolean }} item @returns {number} bytes that it takes */
  extent ({ length, position, isPadding, isUnreadable }) {
    if (isUnreadable) return length
    return isPadding ? this.props.block.end - this.props.block.start - position : length + 4
  }

  draw (isThemeNew = false) {
    if (this.canvas.current === null || this.state.width === 0) return
    if (isThemeNew || this.colours === undefined) this.colours = palette(COLOURS)
    const { colours } = this
    const { width, scale, boards } = this.layout()
    const context = contextOf(this.canvas.current, width, boards * BOARD)
    context.fillStyle = colours.board
    for (let board = 0; board < boards; board++) context.fillRect(0, (board + 1) * BOARD - FLOOR, width, FLOOR)
    this.items.forEach((item) => {
      const isChosen = item.position === this.props.position
      const from = item.position * scale
      const to = from + this.extent(item) * scale
      // one that does not fit on its board goes on on the next
      for (let board = Math.floor(from / width); board * width < to && board < boards; board++) {
        const left = Math.max(from, board * width) - board * width
        const right = Math.min(to, (board + 1) * width) - board * width
        const isStart = from >= board * width
        const isEnd = to <= (board + 1) * width
        const room = BOARD - FLOOR - 4
        const height = item.isPadding || item.isUnreadable ? room * 0.5 : Math.round(room * (0.68 + 0.32 * hash(item.position)))
        const top = (board + 1) * BOARD - FLOOR - height
        const gap = right - left > 4 ? 1 : 0
        if (item.isPadding || item.isUnreadable) drawHatched(context, left, top, right - left, height, item.isPadding ? colours.padding : colours.corrupt)
        else drawBook(context, left, top, right - left - gap, height, item, scale, isStart, isEnd, colours)
        if (isChosen) {
          context.strokeStyle = colours.ink
          context.lineWidth = 2
          context.strokeRect(left + 1, top - 1, Math.max(2, right - left - 2), height + 1)
        }
        if (item.isPadding && isEnd) drawPointer(context, isStart ? left : 0, right, top, colours)
      }
    })
  }

  itemAt ({ offsetX, offsetY }) {
    const { width, scale } = this.layout()
    const position = (Math.floor(offsetY / BOARD) * width + offsetX) / scale
    return this.items.find(item => position >= item.position && position < item.position + this.extent(item))
  }

  reveal () {
    const { position } = this.props
    if (position === null) return
    const { width, scale } = this.layout()
    const top = Math.floor(position * scale / width) * BOARD
    const box = this.box.current
    if (top < box.scrollTop) box.scrollTop = top
    else if (top + BOARD > box.scrollTop + box.clientHeight) box.scrollTop = top + BOARD - box.clientHeight
  }

  onKey (event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const { items } = this
    if (items.length === 0) return
    const index = items.findIndex(item => item.position === this.props.position)
    const to = { ArrowRight: index + 1, ArrowLeft: Math.max(0, index - 1), Home: 0, End: items.length - 1 }[event.key]
    if (to !== undefined) {
      event.preventDefault()
      this.props.onPosition(items[Math.min(items.length - 1, to)].position)
    } else if (event.key === 'Enter' && index !== -1 && items[index].deleted !== undefined) {
      event.preventDefault()
      event.stopPropagation()
      this.props.onRecord(items[index])
    }
  }

  render ({ block, position, onPosition }, { hovered }) {
    const { items } = this
    const index = items.findIndex(item => item.position === position)
    const shown = hovered ?? items[index]
    return html`
      <p class="hint mono">${shown === undefined ? 'Point at a book, or use the arrow keys.' : describe(shown)}</p>
      <div class="books" tabindex="0" role="slider" aria-label="Record in the block" aria-valuemin="0" aria-valuemax=${Math.max(0, items.length - 1)} aria-valuenow=${Math.max(0, index)}
        aria-valuetext=${index === -1 ? 'None is chosen' : describe(items[index])} ref=${this.box} onKeyDown=${(event) => this.onKey(event)}>
        <canvas ref=${this.canvas} onPointerMove=${(event) => this.hover(this.itemAt(event))} onPointerLeave=${() => this.hover(undefined)}
          onClick=${(event) => { const item = this.itemAt(event); if (item !== undefined) onPosition(item.position) }}></canvas>
      </div>`
  }

  hover (hovered) {
    if (hovered?.position !== this.state.hovered?.position) this.setState({ hovered: hovered ?? null })
  }
}

/** @returns {number} 0 to 1, the same for the same number */
const hash = (/** @type {number} */ number) => (Math.imul(number + 1, 2654435761) >>> 0) / 2 ** 32

function describe (item) {
  if (item.isUnreadable) return `${count(item.position)}: ${count(item.length)} bytes that cannot be read as records`
  if (item.isPadding) return `padding at ${count(item.position)}; the block's last bytes point back to it`
  const text = item.deleted ? 'deleted' : item.line ?? ''
  return `${count(item.position)}: ${count(item.length)} bytes ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`
}

function drawBook (context, x, y, width, height, item, scale, isStart, isEnd, colours) {
  if (item.deleted) {
    context.strokeStyle = colours.deleted
    context.lineWidth = 1
    context.setLineDash([3, 2])
    context.strokeRect(x + 0.5, y + 0.5, Math.max(1, width - 1), height - 0.5)
    context.setLineDash([])
    return
  }
  context.fillStyle = colours[`book-${Math.floor(hash(item.position * 7) * SPINES)}`]
  context.fillRect(x, y, Math.max(1, width), height)
  if (width < 7) return
  // its two lengths are its edges, and a title
  const edge = Math.max(1, Math.min(2 * scale, width / 3))
  context.globalAlpha = 0.45
  context.fillStyle = colours.ink
  if (isStart) context.fillRect(x, y, edge, height)
  if (isEnd) context.fillRect(x + width - edge, y, edge, height)
  context.globalAlpha = 0.55
  context.fillStyle = colours.surface
  context.fillRect(x + edge + 2, y + 6, Math.max(1, width - 2 * edge - 4), 1)
  context.fillRect(x + edge + 2, y + 9, Math.max(1, width - 2 * edge - 4), 1)
  context.globalAlpha = 1
}

function drawHatched (context, x, y, width, height, colour) {
  context.save()
  context.beginPath()
  context.rect(x, y, width, height)
  context.clip()
  context.strokeStyle = colour
  context.lineWidth = 1
  for (let line = -height; line < width; line += 5) {
    context.beginPath()
    context.moveTo(x + line, y + height)
    context.lineTo(x + line + height, y)
    context.stroke()
  }
  context.strokeRect(x + 0.5, y + 0.5, Math.max(1, width - 1), height - 1)
  context.restore()
}

/** The pointer at the end of the block, back to where the padding starts. */
function drawPointer (context, from, to, top, colours) {
  const y = top - 8
  context.strokeStyle = context.fillStyle = colours.accent
  context.lineWidth = 1.5
  const left = Math.min(from + 1, to - 14)
  context.beginPath()
  context.moveTo(to - 2, top)
  context.lineTo(to - 2, y)
  context.lineTo(left + 3, y)
  context.lineTo(left + 3, top - 3)
  context.stroke()
  context.beginPath()
  context.moveTo(left, top - 5)
  context.lineTo(left + 6, top - 5)
  context.lineTo(left + 3, top)
  context.fill()
}
