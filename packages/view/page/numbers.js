// The log in numbers: sizes, records, appends as they come, cursors, the recovery point, and what verify finds.

import { Component, html } from './vendor/preact.js'
import { events, isAborted } from './api.js'
import { Chart } from './chart.js'
import { Verify } from './verify.js'
import { bytes, count, percent, plural } from './format.js'

/** Seconds that the chart of appends shows at least. */
const SECONDS = 60
/** Width that a label below the histogram takes, in pixels. */
const LABEL = 80

export class Numbers extends Component {
  constructor (props) {
    super(props)
    this.state = { numbers: null, done: 0, error: null }
  }

  componentDidMount () {
    this.load()
  }

  componentWillUnmount () {
    this.loading.abort()
  }

  load () {
    this.loading?.abort()
    this.loading = new window.AbortController()
    this.setState({ done: 0, error: null })
    const handlers = {
      progress: ({ done }) => this.setState({ done }),
      numbers: (numbers) => {
        this.setState({ numbers, done: 1 })
        this.props.onCounted(numbers)
      }
    }
    events('numbers', {}, handlers, this.loading.signal).catch(err => {
      if (!isAborted(err)) this.setState({ error: err })
    })
  }

  render ({ log, samples, onBlock, onRecord, onError }, { numbers, done, error }) {
    return html`
      <div class="numbers" tabindex="0" role="region" aria-label="Numbers"><div class="columns">
        <section aria-label="Sizes">
          <header><h2>Sizes</h2>${numbers !== null && html`<button class="quiet" onClick=${() => this.load()}>Count again</button>`}</header>
          ${error !== null && html`<p class="problem" role="status">${error.message}</p>`}
          <p class="note">${done < 1 && error === null ? html`Counting … <progress value=${done} max="1" aria-label="Counting"></progress> ${percent(done)}` : numbers === null ? '' : `Counted record by record${log.end > numbers.size ? ` up to offset ${count(numbers.size)}; ${bytes(log.end - numbers.size)} were appended since` : ''}.`}</p>
          <dl class="tiles">${tiles(log, numbers).map(([name, value, note]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd>${note && html`<dd class="note">${note}</dd>`}</div>`)}</dl>
        </section>
        <section aria-label="Appends"><h2>Appends</h2><${Live} samples=${samples} onError=${onError} /></section>
        <section aria-label="Record sizes" class="sizes"><h2>Record sizes</h2>${numbers !== null && html`<${Histogram} histogram=${numbers.histogram} onError=${onError} />`}</section>
        <section aria-label="Cursors"><h2>Cursors</h2>${numbers === null ? html`<p class="note">…</p>` : cursorsOf(numbers, onRecord)}</section>
        <section aria-label="Recovery point"><h2>Recovery point</h2>${numbers === null ? html`<p class="note">…</p>` : recoveryPointOf(numbers)}</section>
        <section aria-label="Verify"><h2>Verify</h2><${Verify} onBlock=${onBlock} /></section>
      </div></div>`
  }
}

function tiles (log, numbers) {
  const known = [['End of the log', bytes(log.end), `offset ${count(log.end)}`], ['Block size', bytes(log.blockSize), log.checksum === false ? 'without checksums' : 'with checksums']]
  if (log.start > 0) known.push(['Start', bytes(log.start), 'trimmed before that'])
  // as many as there will be, with room for their notes
  if (numbers === null) return [['Records', '…', ' '], ['Deleted', '…', ' '], ['File', '…', ' '], ['Padding', '…', ' '], ...known]
  const { size, allocated, records, parts, deleted, freed, deletedBytes, padding } = numbers
  const share = (part) => size > 0 ? `${percent(part / size, 1)} of the file` : null
  return [
    ['Records', count(records), records > 0 ? `${bytes(numbers.bytes / records)} on average${parts > 0 ? `; ${plural(parts, 'more chunk')} of large ones` : ''}` : null], ['Deleted', count(deleted), deletedBytes > 0 ? `${freed > 0 ? `and all of ${plural(freed, 'freed block')}; ` : ''}${bytes(deletedBytes)}` : null],
    ['File', bytes(size), allocated === null || allocated === undefined ? null : `${bytes(allocated)} allocated`], ['Padding', bytes(padding), share(padding)],
    ...known
  ]
}

const compact = (_, splits) => splits.map(split => split.toLocaleString('en-US', { notation: 'compact' }))

function Live ({ samples, onError }) {
  const latest = samples.findLast(({ rate }) => rate !== null)
  const data = [samples.map(({ at }) => at / 1000), samples.map(({ rate }) => rate), samples.map(({ lag }) => lag ?? null)]
  const options = (colours, uPlot, axis) => ({
    legend: { live: true },
    scales: { x: { time: true, range: ({ data: [times] }) => lastSeconds(times) }, y: { range: (_, min, max) => [0, Math.max(10, max * 1.1)] }, lag: { range: (_, min, max) => [0, Math.max(10, max * 1.1)] } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    axes: [axis({ label: 'UTC', labelSize: 16, space: 80, values: (_, splits) => splits.map(clock) }), axis({ label: 'records/s', labelSize: 18, size: 60, values: compact }), axis({ scale: 'lag', side: 1, grid: { show: false }, label: 'lag, bytes', labelSize: 18, size: 50, values: compact })],
    series: [{ label: 'Time', value: (_, seconds) => clock(seconds) }, { label: 'records/s', stroke: colours.accent, width: 2, points: { show: false } }, { label: 'lag, bytes', scale: 'lag', stroke: colours.number, width: 1, dash: [4, 3], points: { show: false } }]
  })
  const label = latest === undefined ? 'No sample yet' : `${count(Math.round(latest.rate))} records per second are appended`
  return html`<p class="note">${label}.</p><${Chart} data=${data} options=${options} height=${200} label=${`Append rate: ${label}`} onError=${onError} />`
}

function Histogram ({ histogram, onError }) {
  if (histogram.length === 0) return html`<p class="note">There are no records.</p>`
  const names = histogram.map(({ from, to }) => to === from ? bytes(from) : `${bytes(from)} to ${bytes(to)}`)
  const data = [histogram.map((_, index) => index), histogram.map(({ count }) => count)]
  const options = (colours, uPlot, axis) => ({
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false, range: [-0.6, histogram.length - 0.4] }, y: { range: (_, min, max) => [0, max * 1.05] } },
    axes: [axis({ grid: { show: false }, splits: () => data[0], values: (plot, splits) => labelsOf(histogram, splits, plot.width) }), axis({ size: 60, values: compact })],
    series: [{}, { stroke: colours.accent, fill: colours.accent, paths: uPlot.paths.bars({ size: [0.9, 60] }), points: { show: false } }]
  })
  return html`
    <${Chart} key=${names.join()} data=${data} options=${options} height=${200} label="Histogram of record sizes; the table below has its figures" onError=${onError} />
    <details><summary>As a table</summary>
      <table><thead><tr><th scope="col">Size</th><th scope="col">Records</th></tr></thead>
        <tbody>${histogram.map((bar, index) => html`<tr key=${index}><td>${names[index]}</td><td>${count(bar.count)}</td></tr>`)}</tbody></table></details>`
}

/** @param {number | null} seconds since 1970 */
const clock = (seconds) => seconds === null || seconds === undefined ? '--' : new Date(seconds * 1000).toISOString().slice(11, 19)

/** At least so many seconds, up to the last sample. */
function lastSeconds (times) {
  const last = times.at(-1) ?? Date.now() / 1000
  return [Math.min(times[0] ?? last, last - SECONDS), last]
}

/** As many as have room. */
function labelsOf (histogram, splits, width) {
  const step = Math.ceil(splits.length * LABEL / width)
  return splits.map((index) => histogram[index] === undefined || index % step > 0 ? '' : bytes(histogram[index].from))
}

function cursorsOf ({ cursors, size }, onRecord) {
  if (cursors.length === 0) return html`<p class="note">The log has no named cursors.</p>`
  return html`
    <table><thead><tr><th scope="col">Name</th><th scope="col">Position</th><th scope="col">Behind</th></tr></thead>
      <tbody>${cursors.map(({ name, seq, lag }) => html`
        <tr key=${name}><td>${name}</td>
          <td>${seq === null || seq < 0 ? 'before the first record' : html`<button class="link" onClick=${() => onRecord(seq)}>${count(seq)}</button>`}</td>
          <td>${lag === null || lag === undefined ? '' : bytes(lag)}</td></tr>`)}</tbody></table>`
}

function recoveryPointOf ({ recoveryPoint }) {
  if (recoveryPoint === null) return html`<p class="note">None: the log was closed, or is not being written.</p>`
  const { offset, acknowledged, held, deletions } = recoveryPoint
  const facts = [['Durable up to', count(offset)], ['Acknowledged up to', acknowledged === null || acknowledged === undefined ? 'unknown' : count(acknowledged)], ['A process writes', held ? 'yes' : 'no'], ['Deletions to be completed', count(deletions)]]
  return html`<dl class="facts">${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd class="mono">${value}</dd></div>`)}</dl>`
}
