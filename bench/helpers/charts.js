'use strict'

// The charts of the report, as SVG.

/** Of colours that are told apart by those who do not see all of them, too. */
const COLORS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#8c564b', '#555555', '#b5b500', '#7f3fbf']
const OURS = 'flumelog-random-access-file'
const MB = 1e6

const config = {
  background: 'white',
  font: 'DejaVu Sans, Verdana, sans-serif',
  padding: 12,
  axis: { labelFontSize: 12, titleFontSize: 12, titleFontWeight: 'normal', gridColor: '#e4e4e4', titlePadding: 8 },
  legend: { labelFontSize: 12, labelLimit: 300, title: null, symbolStrokeWidth: 3 },
  title: { fontSize: 14, anchor: 'start', offset: 12 },
  line: { strokeWidth: 2.2, point: { size: 45 } },
  range: { category: COLORS }
}

/**
 * @typedef {import('./results').Figure} Figure
 * @typedef {{ file: string, name: string, title: string, svg: string }} Chart `file` is the benchmark's
 */

/**
 * @param {Figure[]} figures
 * @returns {Promise<Chart[]>} those for which something was measured
 */
async function charts (figures) {
  const measured = figures.filter(({ error }) => error === undefined)
  const specs = [layers, append, readers, burst, scale].map(chart => chart(measured)).filter(({ spec }) => spec !== null)
  return Promise.all(specs.map(async ({ spec, ...chart }) => ({ ...chart, svg: await draw({ ...spec, title: chart.title, config }) })))
}

/** @param {object} spec of Vega-Lite */
async function draw (spec) {
  // they are modules of the other kind
  const [{ parse, View }, { compile }] = await Promise.all([import('vega'), import('vega-lite')])
  const view = new View(parse(compile(spec).spec), { renderer: 'none' })
  const svg = await view.toSVG()
  view.finalize()
  return svg + '\n'
}

/** @param {Figure[]} figures */
function layers (figures) {
  const values = figures.filter(({ file, table, row }) => file === 'layers' && table !== undefined && !row.includes('checksum: false'))
    .map(({ x, row, byteRate }) => ({ x: x / 1024, row, y: byteRate / MB }))
  return {
    file: 'layers',
    name: 'layers',
    title: 'Reading one log through its layers',
    spec: lines(values, { title: 'block size in KiB', scale: { type: 'log', base: 2, nice: false }, format: 'd' },
      { title: 'MB of records a second', scale: { type: 'log' }, values: [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000], format: ',d' })
  }
}

/** @param {Figure[]} figures */
function burst (figures) {
  const values = figures.filter(({ file }) => file === 'burst').map(({ x, row, rate }) => ({ x, row, y: rate }))
  return {
    file: 'burst',
    name: 'burst',
    title: 'Everything at once',
    spec: lines(values, { title: 'appends at once', scale: { type: 'log', nice: false }, format: ',d', values: [1000, 10000, 100000, 500000] },
      { title: 'records stored a second', scale: {}, format: ',d' })
  }
}

/** @param {Figure[]} figures */
function append (figures) {
  const values = figures.filter(({ file, group }) => file === 'append' && group === '1024 in flight')
  return { file: 'append', name: 'append', title: 'Appends, 1024 in flight', spec: bars(values, 'records stored a second') }
}

/** @param {Figure[]} figures */
function readers (figures) {
  const values = figures.filter(({ file, group }) => file === 'layers' && group === 'read by others')
  return { file: 'layers', name: 'readers', title: 'Reading all records', spec: bars(values, 'records read a second') }
}

/** @param {Figure[]} figures */
function scale (figures) {
  const own = figures.filter(({ file }) => file === 'scale')
  const panel = (row, title, valueOf) => ({
    ...lines(own.filter(figure => figure.row === row).map(figure => ({ x: figure.x / MB, row, y: valueOf(figure) })),
      { title: 'size of the log in MB', scale: { type: 'log', nice: false }, format: ',d', values: own.map(({ x }) => x / MB) },
      { title, scale: { zero: true }, format: ',.2~f' }, { legend: null, width: 260, height: 170 })
  })
  const panels = [
    panel('open', 'opening, in ms', ({ milliseconds }) => milliseconds),
    panel('search', 'a search, in ms', ({ milliseconds }) => milliseconds),
    panel('scan', 'scan, MB of records a second', ({ byteRate }) => byteRate / MB),
    panel('memory of a scan', 'most memory of a scan, in MB', ({ peakMemory }) => peakMemory / MB)
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
  return {
    width,
    height,
    data: { values },
    mark: { type: 'line' },
    encoding: {
      x: { field: 'x', ...axis({ ...x, values: x.values ?? values.map(({ x }) => x) }) },
      y: { field: 'y', ...axis(y) },
      color: { field: 'row', type: 'nominal', sort: null, ...(legend === null ? { legend } : {}) }
    }
  }
}

/**
 * @param {Figure[]} figures
 * @param {string} title of the axis
 */
function bars (figures, title) {
  if (figures.length === 0) return null
  const values = figures.map(({ row, rate, note }) => ({ row: note?.startsWith('acknowledges') ? `${row} *` : row, rate, label: rate.toLocaleString('en', { maximumFractionDigits: 0 }) }))
  const place = { y: { field: 'row', type: 'nominal', sort: [...values].sort((a, b) => b.rate - a.rate).map(({ row }) => row), title: null, axis: { labelLimit: 300, ticks: false } } }
  const most = Math.max(...values.map(({ rate }) => rate))
  return {
    width: 460,
    height: { step: 28 },
    data: { values },
    layer: [
      {
        mark: { type: 'bar', height: 18 },
        encoding: {
          ...place,
          // the numbers stand behind the bars
          x: { field: 'rate', type: 'quantitative', title, scale: { domain: [0, most * 1.18], nice: false }, axis: { format: ',d', tickCount: 5 } },
          color: { condition: { test: `datum.row === '${OURS}'`, value: COLORS[0] }, value: '#b0b0b0' }
        }
      },
      { mark: { type: 'text', align: 'left', dx: 5, fontSize: 12 }, encoding: { ...place, x: { field: 'rate', type: 'quantitative' }, text: { field: 'label' } } }
    ]
  }
}

module.exports = { charts }
