import { Component, html } from './vendor/preact.js'
import { coloured, marked } from './colour.js'
import { count, bytes, localTime, time, visible } from './format.js'

/** One record in one line. It is drawn once: scrolling moves it. */
export class RecordRow extends Component {
  shouldComponentUpdate (next) {
    return next.row !== this.props.row || next.isSelected !== this.props.isSelected || next.top !== this.props.top || next.prefix !== this.props.prefix
  }

  render ({ row, top, isSelected, onOpen, columns, prefix, glide }) {
    const name = row.corrupt ? 'row corrupt' : row.deleted ? 'row deleted' : 'row'
    const open = (path) => { if (!glide.hasMoved) onOpen(row, path) }
    return html`
      <div class=${name} role="row" id=${`record-${row.seq}`} aria-selected=${isSelected} data-seq=${row.seq} style=${{ top: `${top}px` }} onClick=${() => open(null)}>
        <span role="gridcell" class="offset">${count(row.seq)}</span>
        <span role="gridcell" class="size">${bytes(row.size)}</span>
        <span role="gridcell" class="time" title=${row.time === null || row.time === undefined ? null : localTime(row.time)}>${row.time === null || row.time === undefined ? '' : time(row.time)}</span>
        ${columns.map((path, i) => html`<span role="gridcell" key=${path} class="cell" title=${path} onClick=${(event) => { event.stopPropagation(); open(path.split('.')) }}>${cellOf(row.cells?.[i])}</span>`)}
        <span role="gridcell" class="line">${contentOf(row, prefix)}</span>
      </div>`
  }
}

/** @param {import('./window.js').Row} row @param {number} prefix characters that all rows have in common, which are left out */
function contentOf (row, prefix) {
  if (row.corrupt) return html`<span class="badge">corrupt</span> ${visible(row.line)}`
  if (row.deleted) return html`<span class="badge">deleted</span>`
  const marks = (row.marks ?? []).map(([from, to]) => [from - prefix, to - prefix])
  const line = row.line.slice(prefix)
  // the others have values, written as JSON
  const nodes = row.kind === 'utf8' || row.kind === 'hex' ? marked(line, marks) : coloured(line, marks)
  return prefix > 0 ? [html`<span class="cut">…</span>`, ...nodes] : nodes
}

/** @param {string | null | undefined} json of a value */
function cellOf (json) {
  if (json === null || json === undefined) return html`<span class="cut">–</span>`
  if (json[0] !== '"') return coloured(json)
  return html`<span class="string">${visible(stringOf(json))}</span>`
}

function stringOf (json) {
  try {
    return JSON.parse(json)
  } catch {
    return json // it is cut
  }
}

/** Characters from which on a prefix is left out. */
const MIN_PREFIX = 8

/**
 * @param {import('./window.js').Row[]} rows
 * @returns {number} characters at the start of all of them that are the same, up to a comma, a bracket or a space
 */
export function commonPrefix (rows) {
  const lines = rows.filter(row => !row.corrupt && !row.deleted).map(row => row.line)
  if (lines.length < 3) return 0
  // what is marked is to be seen
  let length = Math.min(lines[0].length, ...rows.map(row => row.marks?.[0]?.[0] ?? Infinity))
  for (const line of lines) {
    let same = 0
    while (same < length && line[same] === lines[0][same]) same++
    length = same
  }
  const end = Math.max(...['{', '[', ',', ' '].map(sign => lines[0].lastIndexOf(sign, length - 1))) + 1
  return length > 0 && end >= MIN_PREFIX ? end : 0
}
