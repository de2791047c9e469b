// What the list shows of each record: columns, and whether deleted records are listed.

import { Component, html } from './vendor/preact.js'
import { get } from './api.js'

export const columnsIn = (/** @type {string} */ columns) => columns === '' ? [] : columns.split(',')

export class Columns extends Component {
  constructor (props) {
    super(props)
    this.state = { paths: [] }
  }

  /** The paths are asked for when the menu is opened. */
  async open (event) {
    if (!event.target.open) return
    try {
      const { paths } = await get('paths', { encoding: this.props.encoding })
      this.setState({ paths })
    } catch (error) {
      this.props.onError(error)
    }
  }

  submit (event) {
    event.preventDefault()
    const paths = event.target.elements.columns.value.split(/[\s,]+/).filter(path => path !== '')
    this.props.onColumns([...new Set(paths)].join(','))
  }

  render ({ columns, hidden, isFiltered, onColumns, onHide }, { paths }) {
    const chosen = columnsIn(columns)
    const toggle = (path) => onColumns((chosen.includes(path) ? chosen.filter(other => other !== path) : [...chosen, path]).join(','))
    return html`
      <details class="menu" onToggle=${(event) => this.open(event)}><summary class="button">Columns${chosen.length > 0 && ` (${chosen.length})`}</summary>
        <div class="sheet">
          <form class="paths" onSubmit=${(event) => this.submit(event)}>
            <label>Paths <input name="columns" placeholder="level, value.author" autocomplete="off" spellcheck="false" key=${columns} defaultValue=${chosen.join(', ')} /></label>
            <button>Show</button>
          </form>
          ${paths.length > 0 && html`<fieldset><legend>In the last records</legend>
            ${paths.map(path => html`<label key=${path}><input type="checkbox" checked=${chosen.includes(path)} onChange=${() => toggle(path)} /> <span class="mono">${path}</span></label>`)}</fieldset>`}
          <label><input type="checkbox" checked=${hidden !== '' || isFiltered} disabled=${isFiltered} onChange=${() => onHide(hidden === '' ? '1' : '')} /> Hide deleted records</label>
        </div>
      </details>`
  }
}
