import { Component, html } from './vendor/preact.js'

const KEYS = [
  ['j  k', 'next, previous record'], ['g  G', 'start, end of the log'], ['Enter', 'show the record'], ['Esc', 'close what is open; then show all records again'],
  ['/', 'filter'], [':', 'jump to an offset, a percentage, a date, or path = value'], ['1  2  3', 'records, shelf, numbers'],
  ['↑ ↓ PgUp PgDn', 'in the list; arrow keys also move in trees, the shelf and its books'], ['?', 'this help']
]

/** The keys, in a dialog. */
export class Help extends Component {
  constructor (props) {
    super(props)
    this.dialog = { current: null }
  }

  componentDidMount () {
    this.dialog.current.showModal()
  }

  render ({ onClose }) {
    return html`
      <dialog ref=${this.dialog} onClose=${onClose} aria-labelledby="help-title" onClick=${(event) => { if (event.target === this.dialog.current) this.dialog.current.close() }}>
        <h2 id="help-title">Keys</h2>
        <dl class="keys">${KEYS.map(([keys, text]) => html`<div key=${keys}><dt>${keys.split(' ').filter(key => key !== '').map(key => html`<kbd key=${key}>${key}</kbd>`)}</dt><dd>${text}</dd></div>`)}</dl>
        <p class="note">The address of the page has all that it shows: copy it to come back.</p>
        <form method="dialog"><button>Close</button></form>
      </dialog>`
  }
}
