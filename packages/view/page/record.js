// The panel with all of one record: as a tree, as text, or as bytes beside text.

import { Component, html } from './vendor/preact.js'
import { getExact, isAborted } from './api.js'
import { bytes, count, decodeBytes, localTime, time, visible } from './format.js'
import { coloured } from './colour.js'
import { SaveRecord } from './save.js'
import { Tree } from './tree.js'
import { Hex } from './hex.js'
import { Tabs } from './tabs.js'

const PANELS = { tree: 'Tree', text: 'Text', hex: 'Hex' }
/** Characters of text that are coloured; each token is an element. */
const MAX_COLOURED = 65536

export class RecordPanel extends Component {
  constructor (props) {
    super(props)
    this.state = { record: null, error: null }
    this.heading = { current: null }
  }

  componentDidMount () {
    this.load()
  }

  componentDidUpdate ({ seq, encoding }) {
    if (seq !== this.props.seq || encoding !== this.props.encoding) this.load()
  }

  componentWillUnmount () {
    this.loading?.abort()
  }

  load () {
    this.loading?.abort()
    const { signal } = this.loading = new window.AbortController()
    const { seq, encoding } = this.props
    getExact('record', { seq, encoding }, signal).then(
      (record) => this.setState({ record: { ...record, content: decodeBytes(record.bytes) }, error: null }),
      (err) => { if (!isAborted(err)) this.setState({ record: null, error: err }) }
    )
  }

  render ({ seq, panel, encoding, path, onPanel, onClose, onSelect, onBlock, onContext, onFilter, onColumn }, { record, error }) {
    const isCurrent = record !== null && record.seq === seq
    const shown = panel === 'tree' && record !== null && record.value === undefined ? 'text' : panel
    return html`
      <section class="panel" id="record" aria-label="Record" tabindex="-1" aria-busy=${!isCurrent && error === null}>
        <header>
          <h2>Record at offset <span class="mono">${count(seq)}</span></h2>
          <button class="quiet" aria-label="Previous record" title="Previous record (k)" disabled=${!isCurrent || record.previous === null} onClick=${() => onSelect(record.previous)}>↑</button>
          <button class="quiet" aria-label="Next record" title="Next record (j)" disabled=${!isCurrent || record.next === null} onClick=${() => onSelect(record.next)}>↓</button>
          <button class="quiet" aria-label="Close the record" title="Close (Esc)" onClick=${onClose}>✕</button>
        </header>
        ${error !== null && html`<p class="problem" role="status">${error.message}</p>`}
        ${record !== null && html`
          <dl class="facts">
            <div><dt>Size</dt><dd>${bytes(record.size)}</dd></div>
            ${record.time !== null && record.time !== undefined && html`<div><dt>Time</dt><dd>${time(record.time)} UTC, here ${localTime(record.time)}</dd></div>`}
            ${record.deleted ? html`<div><dt>Content</dt><dd><span class="badge">deleted</span></dd></div>` : html`<div><dt>Encoding</dt><dd>${record.encoding}${record.packing && `, ${record.packing}`}</dd></div>`}
            <div><dt>Block</dt><dd><a href=${`#view=shelf&block=${record.block}`} onClick=${(event) => onBlock(event, record)}>${count(record.block)}</a></dd></div>
          ${onContext && html`<div><button class="link" onClick=${() => onContext(record.seq)}>Show among all records</button></div>`}
          </dl>
          ${!record.deleted && html`<div class="saves"><${SaveRecord} seq=${record.seq} encoding=${encoding} /></div>`}
          ${!record.deleted && html`<${Tabs} label="Form of the record" names=${PANELS} value=${shown} onChange=${onPanel} controls="record-content" disabled=${record.value === undefined ? ['tree'] : []} />`}
          ${(shown === 'tree' ? !record.deleted && !record.complete : record.truncated) && html`<p class="note">Only the first ${shown === 'tree' ? 'members' : bytes(record.content.length)} are shown.</p>`}
          ${!record.deleted && html`<div class="content" id="record-content" role="tabpanel" aria-labelledby=${`tab-${shown}`}>${contentOf(shown, record, { path, onFilter, onColumn })}</div>`}`}
      </section>`
  }
}

function contentOf (panel, record, actions) {
  if (panel === 'tree') return html`<${Tree} ...${actions} key=${`${record.seq} ${actions.path}`} value=${record.value} isCut=${!record.complete} label=${`Record ${record.seq}`} />`
  if (panel === 'hex') return html`<${Hex} key=${record.seq} bytes=${record.content} label=${`Bytes of record ${record.seq}`} />`
  if (record.text === null || record.text === undefined) return html`<p class="note">This record is not text.</p>`
  const isColoured = record.value !== undefined && record.text.length <= MAX_COLOURED
  return html`<pre class="text" tabindex="0" aria-label="Text of the record">${isColoured ? coloured(record.text) : visible(record.text)}</pre>`
}
