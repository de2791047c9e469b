// Above the list: where to jump, what to filter, and what to export.

import { Component, html } from './vendor/preact.js'
import { address } from './api.js'
import { count, percent, plural, visible } from './format.js'

const OFFSET = /^\d[\d,_ ]*$/
const PERCENT = /^\d+(\.\d+)?\s*%$/
const PATH_AND_VALUE = /^([^\s=<>!]+)\s*>?=\s*(.+)$/s
const DATE = /^\d{4}-\d\d(-\d\d.*)?$/

/**
 * @param {string} text
 * @returns {Record<string, string> | null} parameters of api/find; null: it is none of what can be found
 */
export function targetOf (text) {
  const wanted = text.trim()
  if (/^(start|end)$/i.test(wanted)) return { at: wanted.toLowerCase() }
  if (PERCENT.test(wanted)) return { at: wanted.replace(/\s/g, '') }
  if (OFFSET.test(wanted)) return { at: wanted.replace(/\D/g, '') }
  if (DATE.test(wanted)) return { path: 'timestamp', value: wanted }
  const match = PATH_AND_VALUE.exec(wanted)
  return match === null ? null : { path: match[1], value: match[2].trim() }
}

export class Bar extends Component {
  submit (event, name) {
    event.preventDefault()
    const { value } = event.target.elements[name]
    if (name === 'q') return this.props.onFilter(value.trim())
    const target = targetOf(value)
    if (target === null) this.props.onError(new Error('To jump, write an offset, “50 %”, “start”, “end”, a date, or “path = value”, such as “timestamp = 2018-02-06”'))
    else this.props.onJump(target)
  }

  render ({ state, log, scan, onFilter, onStop, onResume, onEncoding }) {
    return html`
      <div class="bar">
        <form role="search" class="filter" onSubmit=${(event) => this.submit(event, 'q')}>
          <label class="sr" for="filter">Filter</label>
          <input id="filter" name="q" type="search" placeholder="Filter: text, path = value, path > value" autocomplete="off" spellcheck="false" key=${state.q} defaultValue=${state.q}
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
        <${Export} q=${state.q} encoding=${state.encoding} />
      </div>
      ${state.q !== '' && html`<div class="scan">${scanOf(scan, onStop, onResume)}<button class="link" onClick=${() => onFilter('')}>Show all records</button></div>`}`
  }
}

function scanOf (scan, onStop, onResume) {
  const { isScanning, isStopped, done, counts: { hits, scanned, corrupt }, reverse } = scan
  const passed = corrupt > 0 ? `; ${plural(corrupt, 'corrupt block')} passed over` : ''
  const found = `${plural(hits, 'hit')}${scanned > 0 ? ` in ${plural(scanned, 'record')}` : ''}`
  if (isScanning) {
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
  return `No record has a value at “${visible(missing)}”. To look for text, put it in quotes: "${visible(q)}"`
}

class Export extends Component {
  constructor (props) {
    super(props)
    this.state = { format: 'ndjson', fields: '' }
  }

  render ({ q, encoding }, { format, fields }) {
    const href = address('export', { q, format, fields: format === 'csv' ? fields.replace(/\s/g, '') : '', encoding })
    return html`
      <details class="menu"><summary class="button">Export</summary>
        <div class="sheet">
          <p>${q === '' ? 'All records' : 'All records that match the filter'}</p>
          <div class="choice" role="radiogroup" aria-label="Format">
            ${['ndjson', 'csv'].map(name => html`<label key=${name}><input type="radio" name="format" value=${name} checked=${format === name} onChange=${() => this.setState({ format: name })} /> ${name === 'csv' ? 'CSV' : 'NDJSON'}</label>`)}
          </div>
          ${format === 'csv' && html`<label>Fields <input value=${fields} placeholder="timestamp, value.author" onInput=${(event) => this.setState({ fields: event.target.value })} /></label>`}
          <a class="button" href=${href} download>Download</a>
        </div>
      </details>`
  }
}

/** Below the list: where one is. */
export function Footer ({ log, counted, status }) {
  return html`
    <footer class="status">
      <span>${recordsOf(log, counted)}offsets ${count(log.start)} to ${count(log.end)}</span>
      <span class=${status === 'live' ? 'live' : 'live off'}>${status === 'live' ? 'live' : 'not connected'}</span>
    </footer>`
}

/** How many records there are, if the server knows it, or as they were counted for Numbers. */
function recordsOf (log, counted) {
  if (log.records !== null && log.records !== undefined) return `${plural(log.records, 'record')} · `
  if (counted === null) return ''
  return `${plural(counted.records, 'record')}${counted.size < log.end ? ` up to offset ${count(counted.size)}` : ''} · `
}
