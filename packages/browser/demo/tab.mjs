// A tab of the demo: appends to the log that all tabs share, and shows its last records and some figures.

import { open } from './index.mjs' // eslint-disable-line import/no-unresolved

/* global requestAnimationFrame */

const SHOWN = 10
/** Records that are appended at a time. */
const BURST = 100
const SECOND = 1000

const element = (selector) => document.querySelector(selector)
const show = (id, value) => { element(`#${id}`).textContent = typeof value === 'number' ? value.toLocaleString('en') : value }

const name = `tab ${Math.random().toString(36).slice(2, 6)}`
const counts = { records: 0, acknowledged: 0, takeovers: 0 }
let last = []

async function main () {
  show('name', name)
  const log = await open('flumelog-demo', { codec: 'json', shared: true })
  const append = async (value) => {
    await log.append(value)
    counts.acknowledged += Array.isArray(value) ? value.length : 1
  }

  element('form').onsubmit = (event) => {
    event.preventDefault()
    const input = element('form input')
    append({ tab: name, text: input.value }).catch(failed)
    input.value = ''
  }
  element('#fast').onchange = async () => {
    let n = 0
    while (element('#fast').checked) await append(Array.from({ length: BURST }, () => ({ tab: name, n: n++ }))).catch(failed)
  }

  figures(log).catch(failed)
  drawEvents()
  for await (const batch of log.batches({ live: true })) {
    counts.records += batch.length
    last = [...batch.slice(-SHOWN).reverse(), ...last].slice(0, SHOWN)
  }
}

/** Once per second. */
async function figures (log) {
  let role = log.role
  let before = { ...counts, at: performance.now() }
  for (;;) {
    const { allocated } = await log.stats()
    if (log.role === 'owner' && role === 'client') counts.takeovers++
    role = log.role
    const now = { ...counts, at: performance.now() }
    const perSecond = (count) => Math.round((now[count] - before[count]) / (now.at - before.at) * SECOND)
    show('role', role)
    element('#role').className = role
    show('records', counts.records)
    show('rate', perSecond('records'))
    show('own', perSecond('acknowledged'))
    show('takeovers', counts.takeovers)
    show('size', `${((allocated ?? 0) / 1e6).toFixed(1)} MB`)
    before = now
    await new Promise(resolve => setTimeout(resolve, SECOND))
  }
}

function drawEvents () {
  const items = last.map(({ seq, value: { tab, text, n } }) => {
    const item = document.createElement('li')
    item.textContent = `${seq} ${tab}: ${text ?? n}`
    return item
  })
  element('ol').replaceChildren(...items)
  requestAnimationFrame(drawEvents)
}

function failed (err) {
  show('problem', `${err.code ?? ''} ${err.message}`)
}

main().catch(failed)
