// Above the list: where to jump, what to filter, and what to export.

import { Component, html } from './vendor/preact.js'
import { downloadAddress } from './api.js'
import { Columns } from './columns.js'
import { Copy } from './save.js'
import { count, percent, plural, time, visible } from './format.js'

const OFFSET = /^\d[\d,_ ]*$/
const PERCENT = /^\d+(\.\d+)?\s*%$/
const DATE = /^\d{4}-\d\d(-\d\d.*)?$/

/**
 * @param {string} text
 * @returns {Record<string, string>} parameters of api/find
 */
export function targetOf (text) {
  const wanted = text.trim()
  if (/^(start|end)$/i.test(wanted)) return { at: wanted.toLowerCase() }
  if (PERCENT.test(wanted)) return { at: wanted.replace(/\s/g, '') }
  if (OFFSET.test(wanted)) return { at: wanted.replace(/\D/g, '') }
  return DATE.test(wanted) ? { time: wanted } : { where: wanted }
}

export class Bar extends Component {
  constructor (props) {
    super(props)
    this.field = { current: null }
  }

  /** The filter may be another one by the Back button, or a click on a value. */
  componentDidUpdate ({ state: { q } }) {
    if (q !== this.props.state.q) this.field.current.value = this.props.state.q
  }

  submit (event, name) {
    event.preventDefault()
    const { value } = event.target.elements[name]
    if (name === 'q') return this.props.onFilter(value.trim())
    this.props.onJump(targetOf(value))
  }

  render ({ state, log, scan, onFilter, onStop, onResume, onEncoding, onColumns, onHide, onError }) {
    return html`
      <div class="bar">
        <form role="search" class="filter" onSubmit=${(event) => this.submit(event, 'q')}>
          <label class="sr" for="filter">Filter</label>
          <input id="filter" name="q" type="search" placeholder="Filter: text, path = value, path > value" autocomplete="off" spellcheck="false" ref=${this.field} defaultValue=${state.q}
            onInput=${(event) => { if (event.target.value === '' && state.q !== '') onFilter('') }} />
          <button>Filter</button>
        </form>
        <form class="jump" onSubmit=${(event) => this.submit(event, 'target')}>
          <label class="sr" for="jump">Jump to</label>
          <input id="jump" name="target" placeholder="Jump: offset, 50 %, end, date …" autocomplete="off" spellcheck="false" />
          <button>Jump</button>
        </form>
        <label class="encoding"><span class="sr">Encoding</span>
          <select value=${state.encoding} onChange=${(event) => onEncoding(event.target.value)}>
            <option value="">as found: ${log.encoding}</option>
            ${log.encodings.map(name => html`<option key=${name} value=${name}>${name}</option>`)}
          </select></label>
        <${Columns} columns=${state.columns} hidden=${state.hidden} isFiltered=${state.q !== ''} encoding=${state.encoding} onColumns=${onColumns} onHide=${onHide} onError=${onError} />
        <${Export} q=${state.q} encoding=${state.encoding} columns=${state.columns} />
      </div>
      ${state.q !== '' && html`<div class="scan">${scanOf(scan, onStop, onResume)}<button class="link" onClick=${() => onFilter('')}>Show all records</button></div>`}`
  }
}

function scanOf (scan, onStop, onResume) {
  const { isScanning, isStopped, done, counts: { hits, scanned, corrupt }, reverse } = scan
  const passed = corrupt > 0 ? `; ${plural(corrupt, 'corrupt block')} passed over` : ''
  const found = `${plural(hits, 'hit')}${scanned > 0 ? ` in ${plural(scanned, 'record')}` : ''}`
  if (isScanning && !scan.isFollowing) {
    return html`
      <progress value=${done} max="1" aria-label="Filtering"></progress>
      <span>${found}, ${reverse ? 'going back, ' : ''}${percent(done)}${passed}</span> <button onClick=${onStop}>Stop</button>`
  }
  if (isStopped) return html`<span role="status">${found} so far, stopped${passed}</span> <button onClick=${onResume}>Go on</button>`
  return html`<span role="status">${found}${scan.isWhole ? '' : ` so far: scroll ${scan.reachedStart ? 'down ' : scan.reachedEnd ? 'up ' : ''}for more`}${passed}</span>`
}

/** @param {import('./scan.js').Scan} scan @param {string} q @returns {string} what is said if a filter finds nothing */
export function emptyOf ({ missing, isWhole, counts: { scanned } }, q) {
  if (!missing || !isWhole || scanned === 0) return 'No record matches.'
  return `No record has a value at “${visible(missing)}”. To look for text, put it in quotes: "${visible(q.replace(/["\\]/g, '\\$&'))}"`
}

class Export extends Component {
  constructor (props) {
    super(props)
    this.state = { format: 'ndjson', fields: null, skipCorrupt: false }
  }

  render ({ q, encoding, columns }, { format, fields: given, skipCorrupt }) {
    const fields = given ?? columns
    const params = { q, format, fields: format === 'csv' ? fields.replace(/\s/g, '') : '', skipCorrupt: skipCorrupt ? 1 : '', encoding }
    return html`
      <details class="menu export"><summary class="button">Export</summary>
        <div class="sheet">
          <p>${q === '' ? 'All records' : 'All records that match the filter'}</p>
          <div class="choice" role="radiogroup" aria-label="Format">
            ${['ndjson', 'csv'].map(name => html`<label key=${name}><input type="radio" name="format" value=${name} checked=${format === name} onChange=${() => this.setState({ format: name })} /> ${name === 'csv' ? 'CSV' : 'NDJSON'}</label>`)}
          </div>
          ${format === 'csv' && html`<label>Fields <input value=${fields} placeholder="timestamp, value.author" onInput=${(event) => this.setState({ fields: event.target.value })} /></label>`}
          <label><input type="checkbox" checked=${skipCorrupt} onChange=${(event) => this.setState({ skipCorrupt: event.target.checked })} /> Leave out corrupt blocks; otherwise, the download fails at the end if there are any</label>
          <div class="choice">
            <a class="button" href=${downloadAddress('export', params)} download>Download</a>
            <${Copy} path="export" params=${params} name="Copy" />
          </div>
        </div>
      </details>`
  }
}

/** Below the list: how much there is, and whether it is live. */
export function Footer ({ log, overview, counted, status, isPaused, onPause }) {
  const name = status !== 'live' ? 'not connected' : isPaused ? 'paused' : 'live'
  return html`
    <footer class="status">
      <span>${recordsOf(log, overview, counted)}offsets ${count(log.start)} to ${count(log.end)}${spanOf(overview)}</span>
      <span class="states"><button class="link" aria-pressed=${isPaused} onClick=${onPause}>${isPaused ? 'Go on' : 'Pause'}</button>
        <span class=${name === 'live' ? 'live' : 'live off'} role="status">${name}</span></span>
    </footer>`
}

/** How many records there are: as they were counted for Numbers, or an estimate. */
function recordsOf (log, overview, counted) {
  if (counted !== null) return `${plural(counted.records, 'record')}${counted.size < log.end ? ` up to offset ${count(counted.size)}` : ''} · `
  if (overview === null) return ''
  return `${overview.isExact ? '' : 'about '}${plural(overview.isExact ? overview.records : rounded(overview.records), 'record')}${overview.isExact && overview.end < log.end ? ` up to offset ${count(overview.end)}` : ''} · `
}

/** An estimate has no more digits than it knows. */
const rounded = (/** @type {number} */ number) => Number(number.toPrecision(3))

function spanOf (overview) {
  const samples = overview?.samples ?? []
  return samples.length === 0 ? '' : ` · ${time(samples[0].time)} to ${time(samples.at(-1).time)}`
}
