// Bytes beside text, of which only the lines that are seen are in the page.

import { Component, html } from './vendor/preact.js'

const LINE_HEIGHT = 20
const OVERSCAN = 8

export class Hex extends Component {
  constructor (props) {
    super(props)
    this.state = { first: 0, lines: 40, width: 16 }
    this.box = { current: null }
  }

  componentDidMount () {
    this.observer = new window.ResizeObserver(() => this.measure())
    this.observer.observe(this.box.current)
    this.measure()
    this.reveal()
  }

  componentDidUpdate ({ at, bytes }) {
    if (at !== this.props.at || bytes !== this.props.bytes) this.reveal()
  }

  componentWillUnmount () {
    this.observer.disconnect()
  }

  measure () {
    const { clientHeight, clientWidth, scrollTop } = this.box.current
    this.setState({ first: Math.floor(scrollTop / LINE_HEIGHT), lines: Math.ceil(clientHeight / LINE_HEIGHT), width: clientWidth < 560 ? 8 : 16 })
  }

  /** Scrolls to the byte `at`. */
  reveal () {
    const { at } = this.props
    if (at === undefined || at === null) return
    const line = Math.floor(at / this.state.width)
    if (line < this.state.first || line >= this.state.first + this.state.lines - 1) this.box.current.scrollTop = Math.max(0, line - 2) * LINE_HEIGHT
  }

  /**
   * @param {{ bytes: Uint8Array, base?: number, label: string, kindAt?: (position: number) => string }} props base: offset of the first byte
   */
  render ({ bytes, base = 0, label, kindAt }, { first, lines, width }) {
    const total = Math.ceil(bytes.length / width)
    const from = Math.max(0, first - OVERSCAN)
    const seen = []
    for (let line = from; line < Math.min(total, first + lines + OVERSCAN); line++) seen.push(line)
    const digits = Math.max(4, (base + bytes.length).toString(16).length)
    return html`
      <div class="hex" role="region" tabindex="0" aria-label=${label} ref=${this.box} onScroll=${() => this.measure()}>
        <div class="lines" style=${{ height: `${total * LINE_HEIGHT}px` }}>
          ${seen.map(line => html`
            <div key=${line} class="hexline" style=${{ top: `${line * LINE_HEIGHT}px` }}>
              <span class="offset">0x${(base + line * width).toString(16).padStart(digits, '0')}</span>
              <span class="digits">${cells(bytes, line * width, width, kindAt, hexOf)}</span>
              <span class="characters">${cells(bytes, line * width, width, kindAt, characterOf)}</span>
            </div>`)}
        </div>
      </div>`
  }
}

/** Neighbours of one kind share an element. */
function cells (bytes, from, width, kindAt, format) {
  const nodes = []
  let text = ''
  let kind = null
  const flush = () => {
    if (text !== '') nodes.push(kind === null || kind === '' ? text : html`<span class=${kind}>${text}</span>`)
    text = ''
  }
  for (let position = from; position < Math.min(bytes.length, from + width); position++) {
    const next = kindAt?.(position) ?? null
    if (next !== kind) flush()
    kind = next
    text += format(bytes[position])
  }
  flush()
  return nodes
}

const hexOf = (/** @type {number} */ byte) => `${byte.toString(16).padStart(2, '0')} `

const characterOf = (/** @type {number} */ byte) => byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '·'
