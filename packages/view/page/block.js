// One block: its records as books, its padding as the bookend, and its bytes.

import { Component, html } from './vendor/preact.js'
import { get, isAborted } from './api.js'
import { Books } from './books.js'
import { Hex } from './hex.js'
import { partsOf, partAt } from './parts.js'
import { bytes, count, decodeBytes, plural } from './format.js'

const hex32 = (/** @type {number} */ number) => number.toString(16).padStart(8, '0')

export class BlockPanel extends Component {
  constructor (props) {
    super(props)
    this.state = { block: null, error: null, position: null }
  }

  componentDidMount () {
    this.load()
  }

  componentDidUpdate ({ number, log }) {
    const { number: current, log: { end, blockSize } } = this.props
    if (number !== current) this.load()
    // the tail grows
    else if (log.end !== end && Math.floor(log.end / blockSize) === current) this.load()
  }

  componentWillUnmount () {
    this.loading?.abort()
  }

  load () {
    this.loading?.abort()
    const { signal } = this.loading = new window.AbortController()
    const { number } = this.props
    get('block', { number }, signal).then(
      (block) => {
        const content = decodeBytes(block.bytes)
        const known = withUnreadable(block)
        // what is chosen is a position in the block that was shown until now
        if (this.state.block?.number !== number) this.setState({ position: null, at: null })
        this.setState({ block: { ...known, number, content, parts: partsOf(known, content) }, error: null })
      },
      (err) => { if (!isAborted(err)) this.setState({ block: null, error: err }) }
    )
  }

  render ({ number, onClose, onRecord, onBlock, log }, { block, error, position }) {
    const total = Math.ceil(log.end / log.blockSize)
    return html`
      <section class="panel" id="block" aria-label="Block" tabindex="-1" aria-busy=${block?.number !== number && error === null}>
        <header>
          <h2>Block <span class="mono">${count(number)}</span></h2>
          <button class="quiet" aria-label="Previous block" disabled=${number === 0} onClick=${() => onBlock(number - 1)}>←</button>
          <button class="quiet" aria-label="Next block" disabled=${number >= total - 1} onClick=${() => onBlock(number + 1)}>→</button>
          <button class="quiet" aria-label="Close the block" title="Close (Esc)" onClick=${onClose}>✕</button>
        </header>
        ${error !== null && html`<p class="problem" role="status">${error.message}</p>`}
        ${block !== null && html`
          <dl class="facts">
            <div><dt>Offsets</dt><dd>${count(block.start)} to ${count(block.end)}</dd></div>
            <div><dt>Content</dt><dd>${describe(block)}</dd></div>
            <div><dt>Checksum</dt><dd>${checksumOf(block)}</dd></div>
          </dl>
          ${block.problem && html`<p class="problem">Corrupt at <button class="link" onClick=${() => this.setState({ at: block.problem.position })}>position ${count(block.problem.position)}</button>: ${block.problem.reason}</p>`}
          <${Books} block=${block} position=${position} onPosition=${(position) => this.setState({ position, at: null })} onRecord=${(record) => onRecord(block.start + record.position)} />
          <${Detail} block=${block} position=${position} onRecord=${onRecord} onPosition=${(position) => this.setState({ position })} />
          <${Hex} bytes=${block.content} base=${block.start} at=${this.state.at ?? position} label=${`Bytes of block ${number}`} kindAt=${(at) => {
            const part = partAt(block.parts, at)
            return part === undefined ? '' : position !== null && part.owner === position ? `${part.kind} chosen` : part.kind
          }} />`}
      </section>`
  }
}

/** Of a corrupt block, what comes after the last record that can be followed is not padding: that is where its pointer says. */
function withUnreadable (block) {
  const { padding, problem } = block
  if (!problem || padding === null || padding.pointer <= padding.position || padding.pointer >= block.end - block.start) return block
  const { position, pointer } = padding
  return { ...block, unreadable: { position, length: pointer - position }, padding: { position: pointer, length: padding.length - (pointer - position), pointer } }
}

/** The record, or the padding, at the position, in words. */
function Detail ({ block, position, onRecord, onPosition }) {
  const record = block.records.find(record => record.position === position)
  const { padding, unreadable } = block
  if (record !== undefined) {
    return html`
      <div class="detail">
        <p><b>Record</b> at position ${count(record.position)}: length ${count(record.length)} (2 bytes), ${plural(record.length, 'byte')} of data${record.deleted ? ', all zeros: deleted' : ''}, length again (2 bytes).</p>
        <p><button onClick=${() => onRecord(block.start + record.position)}>Show record ${count(block.start + record.position)}</button></p>
      </div>`
  }
  if (unreadable !== undefined && position === unreadable.position) {
    return html`<div class="detail"><p><b>Unreadable</b> from position ${count(position)} on: ${plural(unreadable.length, 'byte')}, in which no record can be followed.</p></div>`
  }
  if (padding !== null && position === padding.position) {
    return html`
      <div class="detail"><p><b>Padding</b> from position ${count(padding.position)} on: the mark, zeros, the checksum, and the pointer back to the mark, <button class="link" onClick=${() => onPosition(padding.position)}>${count(padding.pointer)}</button>. With it, a reader that comes from the end finds the last record.</p></div>`
  }
  return html`<div class="detail"><p>Choose a book to see its bytes. Those of <span class="key-length">lengths</span>, <span class="key-data">data</span>, <span class="key-padding">padding</span>, <span class="key-checksum">checksum</span> and <span class="key-pointer">pointer</span> are coloured.</p></div>`
}

function describe (block) {
  if (block.kind === 'corrupt') return 'corrupt'
  if (block.kind === 'hole') return 'a hole'
  if (block.kind === 'trimmed') return 'trimmed'
  const deleted = block.records.filter(record => record.deleted).length
  const size = block.records.reduce((sum, { length, deleted }) => deleted ? sum : sum + length, 0)
  return `${plural(block.records.length - deleted, 'record')}, ${bytes(size)}${deleted > 0 ? `, ${deleted} deleted` : ''}${block.kind === 'tail' ? ', still open' : ''}`
}

function checksumOf ({ checksum, kind }) {
  if (checksum === null) return kind === 'tail' ? 'none yet' : 'none'
  if (checksum.stored === checksum.computed) return html`<span class="mono">${hex32(checksum.stored)}</span>, valid`
  return html`<span class="problem">stored <span class="mono">${hex32(checksum.stored)}</span>, computed <span class="mono">${hex32(checksum.computed)}</span></span>`
}
