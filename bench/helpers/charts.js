'use strict'

// Draws the charts of the report, as SVG.

const peers = require('../peers')
const { PANELS, compared, panelFigure } = require('./comparison')

/** Distinguishable with colour vision deficiency, and by shape. */
const COLORS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#8c564b', '#555555', '#b5b500', '#7f3fbf']
const SHAPES = ['circle', 'square', 'triangle-up', 'diamond', 'triangle-down', 'cross', 'triangle-right', 'triangle-left']
const OTHERS_COLOR = '#b0b0b0'
const OURS = 'flumelog-random-access-file'
const EARLY_NOTE = '* acknowledges before writing: timed until its file was complete'
const MB = 1e6

const config = {
  background: 'white',
  font: 'DejaVu Sans, Verdana, sans-serif',
  padding: 12,
  view: { stroke: null },
  axis: { labelFontSize: 12, titleFontSize: 12, titleFontWeight: 'normal', gridColor: '#e4e4e4', titlePadding: 8, labelFlush: false },
  legend: { labelFontSize: 12, labelLimit: 420, title: null, symbolSize: 80 },
  title: { fontSize: 14, subtitleFontSize: 12, subtitlePadding: 6, anchor: 'start', offset: 14 },
  range: { category: COLORS, symbol: SHAPES }
}

/**
 * @typedef {import('./results').Figure} Figure
 * @typedef {{ file: string | null, name: string, title: string, svg: string }} Chart `file` is its benchmark, null for the comparison
 */

/**
 * @param {Figure[]} figures
 * @returns {Promise<Chart[]>} the charts for which there are figures
 */
async function charts (figures) {
  const measured = figures.filter(({ error }) => error === undefined)
  const specs = [comparison, layers, burst, clients, scale].map(chart => chart(measured)).filter(({ spec }) => spec !== null)
  return Promise.all(specs.map(async ({ spec, subtitle, ...chart }) => {
    const title = { text: chart.title, ...(subtitle === undefined ? {} : { subtitle }) }
    return { ...chart, svg: await draw({ ...spec, title, config }) }
  }))
}

/** @param {object} spec of Vega-Lite */
async function draw (spec) {
  // these are ES modules
  const [{ parse, View }, { compile }] = await Promise.all([import('vega'), import('vega-lite')])
  const view = new View(parse(compile(spec).spec), { renderer: 'none' })
  const svg = await view.toSVG()
  view.finalize()
  return svg + '\n'
}

/** @param {Figure[]} figures */
function comparison (figures) {
  const panels = PANELS.map(({ title, ...panel }) => {
    const values = compared.map(peer => {
      const rate = panelFigure(figures, panel, peer.name)?.rate
      return { name: starred(peer.name), rate: rate ?? 0, label: rate === undefined ? '–' : formatShort(rate) }
    })
    return { title, values }
  })
  return {
    file: null,
    name: 'comparison',
    title: 'Throughput, 155-byte records (records/s)',
    subtitle: [EARLY_NOTE, '10x cache size: not all caches can be set to the same size, see the notes'],
    spec: panels.some(({ values }) => values.every(({ rate }) => rate === 0))
      ? null
      : { hconcat: panels.map(({ title, values }, i) => bars(values, title, i === 0)), spacing: 10 }
  }
}

/** @param {number} rate */
function formatShort (rate) {
  if (rate >= 1e6) return `${(rate / 1e6).toPrecision(3)} M`
  return rate >= 1000 ? `${Math.round(rate / 1000)} k` : `${Math.round(rate)}`
}

/** @param {string} name of a row */
function starred (name) {
  return peers.some(peer => peer.name === name && peer.isEarly) ? `${name} *` : name
}

/** @param {Figure[]} figures */
function layers (figures) {
  const values = figures.filter(({ file, table, row }) => file === 'layers' && table !== undefined && !row.includes('checksum: false'))
    .map(({ x, row, byteRate }) => ({ x: x / 1024, row, y: byteRate / MB }))
  return {
    file: 'layers',
    name: 'layers',
    title: 'Reading the same log through each layer',
    spec: lines(values, { title: 'block size in KiB', scale: { type: 'log', base: 2, nice: false }, format: 'd' },
      { title: 'MB/s of records', scale: { type: 'log' }, values: [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000], format: ',d' })
  }
}

/** @param {Figure[]} figures */
function burst (figures) {
  const values = figures.filter(({ file }) => file === 'burst').map(({ x, row, rate }) => ({ x, row: starred(row), y: rate }))
  return {
    file: 'burst',
    name: 'burst',
    title: 'Burst: throughput by number of appends issued at once',
    subtitle: EARLY_NOTE,
    spec: lines(values, { title: 'appends at once', scale: { type: 'log', nice: false }, format: ',d', values: [1000, 10000, 100000, 500000] },
      { title: 'records/s', scale: {}, format: ',d' })
  }
}

/** Rows of the benchmark that would make the chart unreadable. */
const NOT_CHARTED = ['rave-level, put, idle leader', 'rave-level, batches of 100', 'bare loop, lock-step', 'bare loop, one acknowledgement per message']

/** @param {Figure[]} figures */
function clients (figures) {
  const values = figures.filter(({ file, table, row }) => file === 'clients' && table !== undefined && !NOT_CHARTED.includes(row))
    .map(({ x, row, rate }) => ({ x, row, y: rate }))
  return {
    file: 'clients',
    name: 'clients',
    title: 'Processes that append to one log, or write one database: throughput of all together',
    spec: lines(values, { title: 'processes that write', scale: { zero: true }, format: 'd' },
      { title: 'records/s', scale: { type: 'log' }, format: '~s' })
  }
}

/** @param {Figure[]} figures */
function scale (figures) {
  const own = figures.filter(({ file }) => file === 'scale')
  const panel = (row, title, valueOf) => ({
    ...lines(own.filter(figure => figure.row === row).map(figure => ({ x: figure.x / MB, row, y: valueOf(figure) })),
      { title: 'size of the log in MB', scale: { type: 'log', nice: false }, format: ',d', values: own.map(({ x }) => x / MB) },
      { title, scale: { zero: true }, format: ',.2~f' }, { legend: null, width: 280, height: 170 })
  })
  const panels = [
    panel('open', 'open, in ms', ({ milliseconds }) => milliseconds),
    panel('search', 'search, in ms', ({ milliseconds }) => milliseconds),
    panel('scan', 'scan, in MB/s of records', ({ byteRate }) => byteRate / MB),
    panel('peak RSS of a scan', 'peak RSS of a scan, in MB', ({ peakMemory }) => peakMemory / MB)
  ]
  return {
    file: 'scale',
    name: 'scale',
    title: 'As the log grows',
    spec: own.length === 0 ? null : { concat: panels, columns: 2, spacing: 30 }
  }
}

/**
 * @param {Array<{ x: number, row: string, y: number }>} values
 * @param {{ title: string, scale: object, format: string, values?: number[] }} x
 * @param {{ title: string, scale: object, format: string, values?: number[] }} y
 * @param {{ legend?: null, width: number, height: number }} [more]
 */
function lines (values, x, y, { legend, width, height } = { width: 560, height: 340 }) {
  if (values.length === 0) return null
  const axis = ({ title, scale, format, values }) => ({ type: 'quantitative', title, scale, axis: { format, ...(values ? { values: [...new Set(values)] } : {}) } })
  const kind = { field: 'row', type: 'nominal', sort: null, ...(legend === null ? { legend } : {}) }
  const encoding = {
    x: { field: 'x', ...axis({ ...x, values: x.values ?? values.map(({ x }) => x) }) },
    y: { field: 'y', ...axis(y) },
    color: kind
  }
  return {
    width,
    height,
    data: { values },
    layer: [
      { mark: { type: 'line', strokeWidth: 2.2 }, encoding },
      { mark: { type: 'point', filled: true, size: 70, opacity: 1 }, encoding: { ...encoding, shape: kind } }
    ]
  }
}

/**
 * @param {Array<{ name: string, rate: number, label: string }>} values
 * @param {string} title of the axis
 * @param {boolean} isNamed whether to label the bars with names
 */
function bars (values, title, isNamed) {
  const place = { y: { field: 'name', type: 'nominal', sort: values.map(({ name }) => name), title: null, axis: { labels: isNamed, labelLimit: 300, ticks: false } } }
  const most = Math.max(...values.map(({ rate }) => rate))
  return {
    width: 190,
    height: { step: 26 },
    data: { values },
    layer: [
      {
        mark: { type: 'bar', height: 17 },
        encoding: {
          ...place,
          // leaves room for the numbers after the bars
          x: { field: 'rate', type: 'quantitative', title, scale: { domain: [0, most * 1.32], nice: false }, axis: { format: '~s', tickCount: 4, labelExpr: "datum.value === 0 ? '0' : datum.label" } },
          color: { condition: { test: `datum.name === '${OURS}'`, value: COLORS[0] }, value: OTHERS_COLOR }
        }
      },
      { mark: { type: 'text', align: 'left', dx: 5, fontSize: 12 }, encoding: { ...place, x: { field: 'rate', type: 'quantitative' }, text: { field: 'label' } } }
    ]
  }
}

module.exports = { charts }
