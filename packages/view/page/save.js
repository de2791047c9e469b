// Copies and saves one record, or what is exported.

import { Component, html } from './vendor/preact.js'
import { downloadAddress, fetchBytes } from './api.js'

/** Bytes that are copied at most. */
const MAX_COPIED = 16 * 1024 * 1024
const utf8 = new window.TextDecoder('utf-8', { fatal: true })

/**
 * @param {string} path of the interface
 * @param {Record<string, any>} params
 * @returns {Promise<string>} what is told of it
 */
async function copy (path, params) {
  try {
    if (window.navigator.clipboard === undefined) throw new Error('this browser lets pages copy only at https:// and on this machine: save it instead')
    const content = await fetchBytes(path, params, MAX_COPIED)
    await window.navigator.clipboard.writeText(textOf(content))
    return 'Copied.'
  } catch (err) {
    return `Not copied: ${err.message}`
  }
}

/** @param {Uint8Array} content @returns {string} as hex, if it is not UTF-8 */
function textOf (content) {
  try {
    return utf8.decode(content)
  } catch {
    return Array.from(content, byte => byte.toString(16).padStart(2, '0')).join('')
  }
}

/** Copies what an address of the interface answers, and tells of it. Props: path, params, name. */
export class Copy extends Component {
  constructor (props) {
    super(props)
    this.state = { note: '' }
  }

  render ({ path, params, name }, { note }) {
    return html`
      <button onClick=${async () => this.setState({ note: await copy(path, params) })}>${name}</button>
      <span role="status" class="note">${note}</span>`
  }
}

/** Copies and saves one record: as it is shown, or the bytes that are stored. Props: seq, encoding. */
export function SaveRecord ({ seq, encoding }) {
  return html`
    <details class="menu" key=${seq}><summary class="button">Copy, save</summary>
      <div class="sheet">${['as shown', 'as stored'].map(name => {
        const params = { seq, form: name.slice(3), encoding }
        return html`
          <div class="choice" key=${name}>
            <a class="button" href=${downloadAddress('content', params)} download>Save ${name}</a>
            <${Copy} path="content" params=${params} name=${`Copy ${name}`} />
          </div>`
      })}
      </div>
    </details>`
}
