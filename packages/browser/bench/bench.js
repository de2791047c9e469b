'use strict'

/* global Worker */

// Measures the log in Chromium, beside other stores in the same page, and writes the results into README.md beside this file:
//
//     npm install --prefix packages/browser/bench
//     node packages/browser/bench/bench.js [--rounds 3] [--only NAME] [--write]

const fs = require('fs')
const http = require('http')
const os = require('os')
const path = require('path')
const { parseArgs } = require('util')
const esbuild = require('esbuild')
const { bundle } = require('../build')
const { findBrowser, launch } = require('../../view/test/helpers/chromium')

const { values: { rounds, only, write } } = parseArgs({ options: { rounds: { type: 'string', default: '3' }, only: { type: 'string' }, write: { type: 'boolean', default: false } } })
const TYPES = { '.mjs': 'text/javascript', '.html': 'text/html', '.wasm': 'application/wasm' }
/** The rows: where each runs, and its module in stores/. */
const ROWS = [
  { name: 'flumelog-browser', store: 'ours', isWorker: true },
  { name: 'flumelog-browser, on a page', store: 'ours', isWorker: false },
  { name: 'sqlite-wasm', store: 'sqlite', isWorker: true },
  { name: 'async-append-only-log', store: 'async-append-only-log', isWorker: false },
  { name: 'OPFS itself', store: 'opfs', isWorker: true }
].filter(({ name }) => only === undefined || name.includes(only))

/** @param {string} folder */
async function build (folder) {
  await bundle(folder)
  const inject = path.join(__dirname, 'inject.mjs')
  /** @type {esbuild.Plugin} */
  const plugin = {
    name: 'bench',
    setup (builder) {
      builder.onResolve({ filter: /^\.\.\/index\.mjs$/ }, () => ({ path: '/index.mjs', external: true }))
      // only for files of Node.js
      builder.onResolve({ filter: /^fs$/ }, ({ path: name }) => ({ path: name, namespace: 'empty' }))
      builder.onLoad({ filter: /.*/, namespace: 'empty' }, () => ({ contents: 'module.exports = {}' }))
      builder.onResolve({ filter: /^(path|util)$/ }, ({ path: name }) => ({ path: path.join(__dirname, '..', 'lib', 'node', `${name}.js`) }))
      builder.onResolve({ filter: /^buffer$/, namespace: 'file' }, () => ({ path: require.resolve('buffer/') }))
    }
  }
  for (const store of new Set(ROWS.map(({ store }) => store))) {
    await esbuild.build({
      stdin: { contents: `import { open } from './stores/${store}.mjs'\nimport { measure } from './rows.mjs'\nexport const run = () => measure(open)\nif (typeof document === 'undefined') run().then(figures => postMessage({ figures, mode: globalThis.usedMode }), err => postMessage({ failed: err.stack }))\n`, resolveDir: __dirname, loader: 'js' },
      outfile: path.join(folder, `bench-${store}.mjs`),
      bundle: true,
      format: 'esm',
      platform: 'browser',
      target: 'es2022',
      logLevel: 'warning',
      define: { global: 'globalThis' },
      ...(store === 'async-append-only-log' ? { inject: [inject] } : {}),
      plugins: [plugin]
    })
  }
  const wasm = path.join(__dirname, 'node_modules', '@sqlite.org', 'sqlite-wasm', 'dist', 'sqlite3.wasm')
  if (fs.existsSync(wasm)) fs.copyFileSync(wasm, path.join(folder, 'sqlite3.wasm'))
}

async function runRow ({ store, isWorker }) {
  const file = `/bench-${store}.mjs`
  if (!isWorker) return { figures: await (await import(file)).run() }
  const worker = new Worker(file, { type: 'module' })
  try {
    return await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => data.failed ? reject(new Error(data.failed)) : resolve(data)
      worker.onerror = ({ message }) => reject(new Error(message))
    })
  } finally {
    worker.terminate()
  }
}

async function main () {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'flumelog-browser-bench-'))
  process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }))
  await build(folder)
  const server = http.createServer(({ url }, response) => {
    const file = path.join(folder, path.basename(String(url)))
    const isFile = path.extname(file) in TYPES && fs.existsSync(file)
    response.setHeader('content-type', isFile ? TYPES[path.extname(file)] : 'text/html')
    response.end(isFile ? fs.readFileSync(file) : '<!doctype html><title>bench</title><link rel="icon" href="data:,">')
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  let version = ''
  const results = new Map(ROWS.map(({ name }) => [name, []]))
  for (let round = 0; round < Number(rounds); round++) {
    // with an empty profile
    const browser = await launch(findBrowser())
    version = await browser.version()
    for (const row of ROWS) {
      // the same page, with a fresh process for each row
      const page = await browser.newPage()
      page.on('console', message => console.error(`# ${message.text()}`))
      await page.goto(`http://127.0.0.1:${server.address().port}/`)
      const { figures, mode } = await page.evaluate(runRow, row)
      console.error(JSON.stringify({ round, name: row.name, mode, figures }))
      results.get(row.name).push(figures)
      await page.close()
    }
    await browser.close()
  }
  server.close()
  const text = report(results, `${version}, ${os.availableParallelism()} cores of ${os.cpus()[0].model}, ${os.type()} ${os.release()}, ${new Date().toISOString().slice(0, 10)}`)
  console.log(text)
  if (!write) return
  const readme = path.join(__dirname, 'README.md')
  fs.writeFileSync(readme, fs.readFileSync(readme, 'utf8').replace(/(<!-- figures -->\n)[^]*(<!-- end -->)/, (_, start, end) => start + text + end))
  fs.writeFileSync(path.join(__dirname, 'chart.svg'), chart(results))
}

/** @param {number[]} values */
function median (values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
}

/** What was measured, of each row. @typedef {Map<string, Array<Record<string, number>>>} Results */

/**
 * @param {Results} results
 * @param {string} where
 */
function report (results, where) {
  const names = [...results.keys()]
  const [[, ours]] = results
  const others = names.filter(name => !name.startsWith('flumelog') && name !== 'OPFS itself')
  const lines = Object.keys(ours[0]).map((what) => {
    // of each round, the better of the others
    const ratio = median(ours.map((figures, round) => figures[what] / Math.max(...others.map(name => results.get(name)[round][what]))))
    return [what, ...names.map(name => median(results.get(name).map(figures => figures[what])).toLocaleString('en')), `${ratio.toFixed(1)}${ratio < 2 ? ' *' : ''}`]
  })
  const table = [['records/s', ...names, 'ratio'], ['---', ...names.map(() => '---:'), '---:'], ...lines]
  return `${table.map(cells => `| ${cells.join(' | ')} |`).join('\n')}\n\nMedians of ${ours.length} rounds. ${where}.\n`
}

const COLORS = ['#0072b2', '#56b4e9', '#d55e00', '#009e73', '#999999']
const BAR = 16
const LABELS = 170
const WIDTH = 420

/** @param {Results} results */
function chart (results) {
  const names = [...results.keys()]
  const [[, ours]] = results
  const parts = []
  let y = 24
  names.forEach((name, i) => parts.push(`<rect x="${8 + i * 200}" y="6" width="10" height="10" fill="${COLORS[i]}"/><text x="${22 + i * 200}" y="15">${name}</text>`))
  for (const what of Object.keys(ours[0])) {
    const rates = names.map(name => median(results.get(name).map(figures => figures[what])))
    const most = Math.max(...rates)
    y += 14
    parts.push(`<text x="8" y="${y + BAR}">${what}</text>`)
    rates.forEach((rate, i) => {
      const width = Math.max(1, rate / most * WIDTH)
      parts.push(`<rect x="${LABELS}" y="${y}" width="${width.toFixed(1)}" height="${BAR - 3}" fill="${COLORS[i]}"/><text x="${(LABELS + width + 6).toFixed(1)}" y="${y + 11}" fill="#555">${rate.toLocaleString('en')}</text>`)
      y += BAR
    })
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${names.length * 200}" height="${y + 12}" font-family="DejaVu Sans, Verdana, sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>${parts.join('\n')}</svg>\n`
}

main().catch((err) => {
  console.error(err)
  // the browser ends with it
  process.exit(1)
})
