// The list of logs, where a server shows several. It is loaded once: reloading the page looks for logs again.

import { Component, html, render } from './vendor/preact.js'
import { get } from './api.js'
import { bytes, plural, time, visible } from './format.js'
import { applyTheme } from './theme.js'
import { tokenParameter } from './token.js'

class Logs extends Component {
  constructor (props) {
    super(props)
    this.state = { logs: null, isCut: false, error: null }
  }

  async componentDidMount () {
    try {
      this.setState(await get('logs'))
    } catch (error) {
      this.setState({ error })
    }
  }

  render (_, { logs, isCut, error }) {
    return html`
      <header class="top"><h1>Logs${logs !== null && html` <small>${plural(logs.length, 'log')}</small>`}</h1></header>
      ${error !== null && html`<div class="toast" role="alert"><span>${error.message}</span></div>`}
      <main id="main" class="logs" tabindex="0" aria-label="Logs">
        ${logs?.length > 0 && html`
          <table>
            <thead><tr><th scope="col">Log</th><th scope="col">Size</th><th scope="col">Last written (UTC)</th><th scope="col">Cursors: how far behind</th></tr></thead>
            <tbody>${logs.map(log => html`<${Row} key=${log.address} log=${log} />`)}</tbody>
          </table>`}
        ${logs?.length === 0 && html`<p class="empty">There is no log here. Reload the page to look again.</p>`}
        ${isCut && html`<p class="note">There are more: only the first ${plural(logs.length, 'log')} can be shown. Name those that you want to see.</p>`}
      </main>`
  }
}

function Row ({ log: { name, address, size, written, cursors, error } }) {
  if (error !== null) return html`<tr><th scope="row">${visible(name)}</th><td colspan="3" class="problem">${visible(error)}</td></tr>`
  return html`
    <tr>
      <th scope="row"><a href=${`${address}?${new URLSearchParams(tokenParameter())}`}>${visible(name)}</a></th>
      <td data-name="Size"><span>${bytes(size)}</span></td>
      <td data-name="Last written (UTC)"><span>${time(written)}</span></td>
      <td data-name="Cursors">${cursors.length === 0 ? 'none' : cursors.map(cursor => html`<div key=${cursor.name}>${visible(cursor.name)}: ${behind(cursor)}</div>`)}</td>
    </tr>`
}

const behind = ({ lag }) => lag === null ? 'not known' : lag === 0 ? 'at the end' : `${bytes(lag)} behind`

applyTheme()
render(html`<${Logs} />`, document.getElementById('app'))
