'use strict'

// Draws the charts of the report, as SVG. Whiskers reach from the minimum to the maximum over the rounds.

const peers = require('../peers')
const { PANELS, compared, panelFigure } = require('./comparison')
const { formatShort } = require('./results')
const { nodeOf } = require('./markdown')

/** Distinguishable with colour vision deficiency, and by shape. */
const COLORS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#8c564b', '#555555', '#b5b500', '#7f3fbf', '#1a1a1a']
const SHAPES = ['circle', 'square', 'triangle-up', 'diamond', 'triangle-down', 'cross', 'triangle-right', 'triangle-left']
const OTHERS_COLOR = '#b0b0b0'
const OURS = 'flumelog-random-access-file'
const EARLY_NOTE = '* acknowledges before writing: timed until its file was complete'
const MB = 1e6
const KIB = 1024
const MIN_POINTS = 3

const config = {
  // readers' pages may be dark
  background: 'white',
  font: 'DejaVu Sans, Verdana, sans-serif',
  padding: 12,
  view: { stroke: null },
  axis: { labelFontSize: 12, titleFontSize: 12, titleFontWeight: 'normal', gridColor: '#e4e4e4', titlePadding: 8, labelFlush: false, labelLimit: 400 },
  legend: { labelFontSize: 12, labelLimit: 420, title: null, symbolSize: 80 },
  title: { fontSize: 14, subtitleFontSize: 11, subtitlePadding: 6, subtitleLineHeight: 15, anchor: 'start', offset: 16 },
  range: { category: COLORS, symbol: SHAPES }
}

/**
 * @typedef {import('./results').Figure} Figure
 * @typedef {import('./results').Spread} Spread
 * @typedef {{ x: number, row: string, y: number, least: number, most: number }} Point
 * @typedef {{ file: string | null, name: string, title: string, svg: string }} Chart `file` is its benchmark, null for the comparison
 *
 * @param {import('./comparison').Run} run
 * @returns {Promise<Chart[]>} the charts for which there are figures
 */
async function charts ({ about, figures }) {
  const measured = figures.filter(({ error }) => error === undefined)
  const specs = [comparison, layers, burst, codecs, clients, scale].map(chart => chart(measured)).filter(({ spec }) => spec !== null)
  return Promise.all(specs.map(async ({ file, name, title, notes, spec }) => {
    const measuredOn = `${nodeOf(about)}, ${about.machine}, ${about.date}`
    return { file, name, title, svg: await draw({ ...spec, title: { text: title, subtitle: [...notes, measuredOn] }, config }) }
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

/** @param {string} name of a row */
function starred (name) {
  return peers.some(peer => peer.name === name && peer.isEarly) ? `${name} *` : name
}

/** @param {Figure[]} figures */
function comparison (figures) {
  const panels = PANELS.map(({ title, ...panel }) => {
    const values = compared.map(peer => barOf(starred(peer.name), panelFigure(figures, panel, peer.name)?.rate))
    return { title, values }
  })
  return {
    file: null,
    name: 'comparison',
    title: 'Throughput in records/s, 155-byte records',
    notes: ['Cold: the first pass in a fresh process. More is better; whiskers: minimum to maximum', EARLY_NOTE],
    spec: panels.some(({ values }) => values.every(({ rate }) => rate === 0))
      ? null
      : { hconcat: panels.map(({ title, values }, i) => bars(values, `${title}, records/s`, i === 0)), spacing: 10 }
  }
}

/** @param {Figure[]} figures */
function codecs (figures) {
  const phases = ['cold', 'warm'].map(phase => {
    return { phase, values: figures.filter(figure => figure.file === 'codecs' && figure.phase === phase).map(({ row, rate }) => barOf(row, rate)) }
  })
  return {
    file: 'codecs',
    name: 'codecs',
    title: 'Reading a field of each record',
    notes: ['Cold: the first pass in a fresh process. More is better; whiskers: minimum to maximum'],
    spec: phases[0].values.length < MIN_POINTS
      ? null
      : { hconcat: phases.map(({ phase, values }, i) => bars(values, `${phase}, records/s`, i === 0)), spacing: 10 }
  }
}

/** @param {Figure[]} figures */
function layers (figures) {
  const values = figures.filter(({ file, table, row, phase }) => file === 'layers' && table !== undefined && phase === 'warm' && !row.includes('checksum: false') && !row.startsWith('for await'))
    .map(({ x, row, byteRate }) => pointOf(x / KIB, row, byteRate, MB))
  return {
    file: 'layers',
    name: 'layers',
    title: 'Reading the same log through each layer',
    notes: ['Warm: after half a second of the same. More is better; whiskers: minimum to maximum'],
    spec: lines(values, { title: 'block size in KiB, log scale', scale: { type: 'log', base: 2, nice: false }, format: 'd' },
      { title: 'MB/s of records, log scale', scale: { type: 'log' }, values: [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000], format: ',d' })
  }
}

/** @param {Figure[]} figures */
function burst (figures) {
  const values = figures.filter(({ file, phase, row }) => file === 'burst' && phase === 'cold' && peers.some(({ name }) => name === row))
    .map(({ x, row, rate }) => pointOf(x, starred(row), rate))
  return {
    file: 'burst',
    name: 'burst',
    title: 'Burst: throughput by number of appends issued at once',
    notes: ['Cold: the first burst in a fresh process. More is better; whiskers: minimum to maximum', EARLY_NOTE],
    spec: lines(values, { title: 'appends at once, log scale', scale: { type: 'log', nice: false }, format: '~s' },
      { title: 'records/s, log scale', scale: { type: 'log' }, format: '~s' })
  }
}

/** Rows of the benchmark that would make the chart unreadable. */
const NOT_CHARTED = ['rave-level, put, idle leader', 'rave-level, batches of 100', 'bare loop, lock-step', 'bare loop, one acknowledgement per message']

/** @param {Figure[]} figures */
function clients (figures) {
  const values = figures.filter(({ file, table, row }) => file === 'clients' && table !== undefined && !NOT_CHARTED.includes(row))
    .map(({ x, row, rate }) => pointOf(x, row, rate))
  return {
    file: 'clients',
    name: 'clients',
    title: 'Processes that append to one log, or write one database: throughput of all together',
    notes: ['Cold: all processes are new. More is better; whiskers: minimum to maximum'],
    spec: lines(values, { title: 'processes that write', scale: { zero: true }, format: 'd' },
      { title: 'records/s, log scale', scale: { type: 'log' }, format: '~s' })
  }
}

/** @param {Figure[]} figures */
function scale (figures) {
  const own = figures.filter(({ file }) => file === 'scale')
  const sizes = [...new Set(own.map(({ x }) => x / MB))]
  const panel = (row, phase, title, unit, spreadOf) => ({
    title: { text: title, fontSize: 12, fontWeight: 'normal', offset: 8 },
    ...lines(own.filter(figure => figure.row === row && figure.phase === phase).map(figure => pointOf(figure.x / MB, 'this log', spreadOf(figure), unit)),
      { title: 'size of the log in MB, log scale', scale: { type: 'log', nice: false }, format: ',d' },
      { title: null, scale: { zero: true }, format: ',.2~f' }, { legend: null, width: 280, height: 170 })
  })
  return {
    file: 'scale',
    name: 'scale',
    title: 'As the log grows',
    notes: ['Warm, except for the peak RSS. Whiskers: minimum to maximum'],
    spec: sizes.length < MIN_POINTS
      ? null
      : {
          columns: 2,
          spacing: 30,
          align: 'none',
          concat: [
            panel('open', 'warm', 'opening, in ms: less is better', 1, ({ milliseconds }) => milliseconds),
            panel('search', 'warm', 'search, in ms: less is better', 1, ({ milliseconds }) => milliseconds),
            panel('scan', 'warm', 'scan, in MB/s: more is better', MB, ({ byteRate }) => byteRate),
            panel('peak RSS of a scan', 'cold', 'peak RSS of a scan, in MB: less is better', MB, ({ memory }) => memory)
          ]
        }
  }
}

/**
 * @param {number} x
 * @param {string} row
 * @param {Spread} spread
 * @returns {Point}
 */
function pointOf (x, row, { median, least, most }, unit = 1) {
  return { x, row, y: median / unit, least: least / unit, most: most / unit }
}

/**
 * @param {Point[]} values
 * @param {{ title: string, scale: object, format: string, values?: number[] }} x
 * @param {{ title: string, scale: object, format: string, values?: number[] }} y
 * @param {{ legend?: null, width: number, height: number }} [more]
 */
function lines (values, x, y, { legend, width, height } = { width: 560, height: 360 }) {
  const positions = [...new Set(values.map(({ x }) => x))]
  if (positions.length < MIN_POINTS) return null
  const axis = ({ title, scale, format, values }) => ({ type: 'quantitative', title, scale, axis: { format, ...(values ? { values } : {}) } })
  const kind = { field: 'row', type: 'nominal', sort: null, ...(legend === null ? { legend } : {}) }
  const encoding = {
    x: { field: 'x', ...axis({ ...x, values: positions }) },
    y: { field: 'y', ...axis(y) },
    color: kind
  }
  const whisker = { ...encoding, y: { field: 'least', ...axis(y) }, y2: { field: 'most' } }
  return {
    width,
    height,
    data: { values },
    layer: [
      { mark: { type: 'line', strokeWidth: 2.2 }, encoding },
      { mark: { type: 'rule', strokeWidth: 1.2 }, encoding: whisker },
      { mark: { type: 'point', filled: true, size: 70, opacity: 1 }, encoding: { ...encoding, shape: kind } }
    ]
  }
}

/**
 * @param {string} name
 * @param {Spread | undefined} rate
 */
function barOf (name, rate) {
  if (rate === undefined) return { name, rate: 0, least: 0, most: 0, label: '–' }
  return { name, rate: rate.median, least: rate.least, most: rate.most, label: formatShort(rate.median) }
}

/**
 * @param {Array<ReturnType<typeof barOf>>} values
 * @param {string} title of the axis
 * @param {boolean} isNamed whether to label the bars with names
 */
function bars (values, title, isNamed) {
  const place = { y: { field: 'name', type: 'nominal', sort: values.map(({ name }) => name), title: null, axis: { labels: isNamed, ticks: false } } }
  const highest = Math.max(...values.map(({ most }) => most))
  return {
    width: 200,
    height: { step: 26 },
    data: { values },
    layer: [
      {
        mark: { type: 'bar', height: 17 },
        encoding: {
          ...place,
          // leaves room for the numbers after the bars
          x: { field: 'rate', type: 'quantitative', title, scale: { domain: [0, highest * 1.35], nice: false }, axis: { format: '~s', tickCount: 4, labelExpr: "datum.value === 0 ? '0' : datum.label" } },
          color: { condition: { test: `datum.name === '${OURS}' || datum.name === 'stream of JSON'`, value: COLORS[0] }, value: OTHERS_COLOR }
        }
      },
      { mark: { type: 'rule', strokeWidth: 1.5, color: '#333333' }, encoding: { ...place, x: { field: 'least', type: 'quantitative' }, x2: { field: 'most' } } },
      { mark: { type: 'text', align: 'left', dx: 5, fontSize: 12 }, encoding: { ...place, x: { field: 'most', type: 'quantitative' }, text: { field: 'label' } } }
    ]
  }
}

module.exports = { charts }
