// All blocks of the log as a map, and the selected one as a shelf of books.

import { Component, html } from './vendor/preact.js'
import { BlockMap } from './map.js'
import { BlockPanel } from './block.js'
import { BlockCells } from './block-cells.js'
import { bytes, count, plural } from './format.js'

const LEGEND = { records: 'records: the fuller, the darker', deleted: 'deleted', hole: 'hole: its space is freed', tail: 'tail, still open', corrupt: 'corrupt', trimmed: 'trimmed', unknown: 'not read yet' }

export class Shelf extends Component {
  constructor (props) {
    super(props)
    this.cells = new BlockCells(() => this.setState({}), props.onError)
  }

  componentWillUnmount () {
    this.cells.stop()
  }

  componentDidUpdate ({ log }) {
    if (log.id !== this.props.log.id) this.cells.clear()
    else if (log.end !== this.props.log.end) this.cells.outdate(Math.floor(log.end / log.blockSize))
  }

  render ({ log, block, onBlock, onClose, onRecord }) {
    const total = Math.ceil(log.end / log.blockSize)
    const trimmed = Math.floor(log.start / log.blockSize)
    return html`
      <div class=${block === null ? 'split' : 'split open'}>
        <section class="shelf" aria-label="Blocks">
          <p class="note">${plural(total - trimmed, 'block')} of ${bytes(log.blockSize)}${trimmed > 0 ? `, from block ${count(trimmed)} on: what was before that is trimmed` : ''}. A block is a shelf; choose one to see its records as books.</p>
          <ul class="legend" aria-label="Colours">${Object.entries(LEGEND).map(([kind, text]) => html`<li key=${kind}><span class=${`swatch ${kind}`}></span>${text}</li>`)}</ul>
          ${total === 0 ? html`<p class="note">The log is empty.</p>` : html`<${BlockMap} cells=${this.cells} total=${total} selected=${block} onBlock=${onBlock} />`}
        </section>
        ${block !== null && html`<${BlockPanel} number=${block} log=${log} onBlock=${onBlock} onClose=${onClose} onRecord=${onRecord} />`}
      </div>`
  }
}
