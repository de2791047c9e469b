'use strict'

// How fast does a viewer answer? The first screen, jumps, and scans, over HTTP, from a server in a process of its own.

const fs = require('fs')
const path = require('path')
const { spawn } = require('child_process')
const ours = require('./peers/ours')
const { summary } = require('./helpers/drive')
const { hasBrowser, timeFrames } = require('./helpers/frames')
const { RECORD_SIZE } = require('./helpers/records')
const { stored } = require('./helpers/rows')

const MB = 1e6
const sizes = { quick: 200, full: 4000 }
const FLUMELOG = path.join(__dirname, '..', 'bin', 'flumelog.js')
const JUMPS = 200

/**
 * @param {import('./helpers/runner').Size} size
 * @param {boolean} [inBrowser] whether to list the rows that need Chromium
 */
function groups (size, inBrowser = hasBrowser) {
  const megabytes = sizes[size]
  const count = Math.floor(megabytes * MB / (RECORD_SIZE + 4))
  const row = (name, run, note) => ({ name, note, input: stored(ours, count), run: ({ input }) => viewing(input, run, count) })
  return [{
    name: `a log of ${megabytes.toLocaleString('en')} MB`,
    rounds: 3,
    rows: [
      row('first screen', timeFirstScreen, 'the page, what the log is, and its last 100 records'),
      row('jump', timeJumps, '100 records at a random offset'),
      row('1,024 blocks of the shelf', timeBlocks),
      row('filter by text', timeScan('filter?q=no+record+has+this')),
      row('filter by a value', timeScan('filter?q=none+%3D+1')),
      row('numbers', timeScan('numbers')),
      row('verify', timeScan('verify')),
      row('export as JSON lines', timeScan('export')),
      ...(inBrowser
        ? [
            row('frames while the list is scrolled', timeScrolling('intervals'), 'in Chromium, 3,000 pixels per second; the rate is in frames per second, and latencies are the intervals between them'),
            row('main thread per frame', timeScrolling('busy'), 'the same; latencies are the milliseconds of CPU that the main thread takes for a frame')
          ]
        : [])
    ]
  }]
}

/**
 * @param {string} input
 * @param {(view: View, count: number) => Promise<object>} run
 * @param {number} count
 */
async function viewing (input, run, count) {
  const view = await startView(path.join(input, 'log'))
  try {
    return await run(view, count)
  } finally {
    view.stop()
  }
}

/** @typedef {{ file: string, address: string, get: (path: string) => Promise<number>, stop: () => void }} View get: gives the bytes of the answer */

/**
 * @param {string} file
 * @returns {Promise<View>}
 */
async function startView (file) {
  const child = spawn(process.execPath, [FLUMELOG, 'view', file, '--no-open'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const address = await new Promise((resolve, reject) => {
    child.stdout.once('data', data => resolve(String(data).trim()))
    child.once('exit', () => reject(new Error('the viewer has ended')))
  })
  const { headers } = await fetch(address, { redirect: 'manual' })
  const cookie = headers.get('set-cookie').split(';')[0]
  const { origin } = new URL(address)
  return {
    file,
    address,
    async get (path) {
      const response = await fetch(`${origin}/${path}`, { headers: { cookie } })
      if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
      let bytes = 0
      for await (const chunk of response.body) bytes += chunk.length
      return bytes
    },
    stop: () => child.kill()
  }
}

/**
 * @param {number} times
 * @param {() => Promise<number>} run gives bytes
 */
async function repeated (times, run) {
  const latencies = []
  let bytes = 0
  const begin = performance.now()
  for (let i = 0; i < times; i++) {
    const called = performance.now()
    bytes += await run()
    latencies.push(performance.now() - called)
  }
  return { phase: 'cold', records: times, bytes, seconds: (performance.now() - begin) / 1000, latency: summary(latencies) }
}

/** @param {View} view */
function timeFirstScreen ({ get }) {
  return repeated(1, async () => await get('') + await get('api/log') + await get('api/records?reverse=1&count=100'))
}

/** @param {View} view */
function timeJumps ({ get, file }) {
  const { size } = fs.statSync(file)
  return repeated(JUMPS, () => get(`api/records?from=${Math.floor(Math.random() * size)}&count=100`))
}

/** @param {View} view */
function timeBlocks ({ get }) {
  return repeated(5, () => get('api/blocks?from=100'))
}

/**
 * @param {string} name
 * @returns {(view: View, count: number) => Promise<object>}
 */
function timeScan (name) {
  return async ({ get, file }, count) => {
    const begin = performance.now()
    await get(`api/${name}`)
    return { phase: 'cold', records: count, bytes: fs.statSync(file).size, seconds: (performance.now() - begin) / 1000 }
  }
}

/**
 * @param {'intervals' | 'busy'} what
 * @returns {(view: View) => Promise<object>}
 */
function timeScrolling (what) {
  return ({ address, file }) => timeFrames(address, `view=records&at=${Math.floor(fs.statSync(file).size / 2)}`, what)
}

module.exports = { name: 'view', question: 'How fast does `flumelog view` answer?', groups }
