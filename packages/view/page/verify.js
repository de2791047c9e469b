import { Component, html } from './vendor/preact.js'
import { events, isAborted } from './api.js'
import { count, percent, plural } from './format.js'

/** Findings that are listed. */
const MAX_FINDINGS = 500

/** Reads all of the log, and lists what is wrong with it. */
export class Verify extends Component {
  constructor (props) {
    super(props)
    this.state = { done: null, findings: [], found: 0, result: null, error: null }
  }

  componentWillUnmount () {
    this.work?.abort()
  }

  start () {
    this.work = new window.AbortController()
    this.setState({ done: 0, findings: [], found: 0, result: null, error: null })
    const handlers = {
      progress: ({ done }) => this.setState({ done }),
      finding: (finding) => this.setState(({ findings, found }) => ({ findings: found < MAX_FINDINGS ? [...findings, finding] : findings, found: found + 1 })),
      end: (result) => this.setState({ result, done: null })
    }
    events('verify', {}, handlers, this.work.signal).catch(err => {
      this.setState({ done: null, error: isAborted(err) ? null : err })
    })
  }

  stop () {
    this.work.abort()
  }

  render ({ onBlock }, { done, findings, found, result, error }) {
    return html`
      <p>${done === null
        ? html`<button onClick=${() => this.start()}>Verify the log</button> <span class="note">reads all of it, and checks every block.</span>`
        : html`<button onClick=${() => this.stop()}>Stop</button> <progress value=${done} max="1" aria-label="Verifying"></progress> ${percent(done)}`}</p>
      <div role="status">
        ${error !== null && html`<p class="problem">${error.message}</p>`}
        ${result !== null && html`<p class=${result.corrupt > 0 ? 'problem' : 'success'}>${result.corrupt > 0 ? `${plural(result.corrupt, 'block')} of the log ${result.corrupt === 1 ? 'is' : 'are'} corrupt; ${plural(result.records, 'record')} are valid.` : `Valid: ${plural(result.records, 'record')}.`}</p>`}
      </div>
      ${findings.length > 0 && html`
        <ul class="findings">${findings.map(({ block, offset, message }, index) => html`
          <li key=${index}><button class="link" onClick=${() => onBlock(block)}>Block ${count(block)}</button> <span class="mono">${count(offset)}</span> ${message}</li>`)}
          ${found > findings.length && html`<li>and ${count(found - findings.length)} more</li>`}</ul>`}`
  }
}
