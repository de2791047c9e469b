import { Component, html } from './vendor/preact.js'
import { coloured } from './colour.js'
import { count, bytes, time, visible } from './format.js'

/** One record in one line. It is drawn once: scrolling moves it. */
export class RecordRow extends Component {
  shouldComponentUpdate (next) {
    return next.row !== this.props.row || next.isSelected !== this.props.isSelected || next.top !== this.props.top
  }

  render ({ row, top, isSelected, onOpen, glide }) {
    const name = row.corrupt ? 'row corrupt' : row.deleted ? 'row deleted' : 'row'
    return html`
      <div class=${name} role="row" id=${`record-${row.seq}`} aria-selected=${isSelected} data-seq=${row.seq} style=${{ top: `${top}px` }}
        onClick=${() => { if (!glide.hasMoved) onOpen(row) }}>
        <span role="gridcell" class="offset">${count(row.seq)}</span>
        <span role="gridcell" class="size">${bytes(row.size)}</span>
        <span role="gridcell" class="time">${row.time === null || row.time === undefined ? '' : time(row.time)}</span>
        <span role="gridcell" class="line">${contentOf(row)}</span>
      </div>`
  }
}

function contentOf (row) {
  if (row.corrupt) return html`<span class="badge">corrupt</span> ${visible(row.line)}`
  if (row.deleted) return html`<span class="badge">deleted</span>`
  // the others have values, written as JSON
  return row.kind === 'utf8' || row.kind === 'hex' ? visible(row.line) : coloured(row.line)
}
