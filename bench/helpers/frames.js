'use strict'

// How smoothly a page scrolls in a browser: the time between its frames, and how long each keeps the page's main thread busy.

const { summary } = require('./drive')
const { launch, findBrowser } = require('../../packages/view/test/helpers/chromium')

/** Pixels, and pixels per second: a quick turn of the wheel. */
const DISTANCE = 12000
const SPEED = 3000

/**
 * @param {string} address
 * @param {string} fragment of the page, which shows a list
 * @param {'intervals' | 'busy'} what
 * @returns {Promise<object>} records are frames, so that their rate is in frames per second; latencies are those of frames
 */
async function timeFrames (address, fragment, what) {
  const browser = await launch(/** @type {string} */ (findBrowser()))
  try {
    const page = await browser.newPage()
    await page.setViewport({ width: 1280, height: 800 })
    await page.goto(address)
    await page.goto(`${new URL('.', address).href}#${fragment}`)
    await page.reload()
    await page.waitForSelector('.rows .row[data-seq]')
    const session = await page.createCDPSession()
    /** @type {any[]} */
    const events = []
    session.on('Tracing.dataCollected', ({ value }) => events.push(...value))
    await session.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: ['devtools.timeline', 'toplevel'] } })
    await page.evaluate(watchFrames)
    const begin = performance.now()
    await session.send('Input.synthesizeScrollGesture', { x: 400, y: 400, yDistance: -DISTANCE, speed: SPEED, gestureSourceType: 'mouse' })
    const seconds = (performance.now() - begin) / 1000
    const intervals = /** @type {number[]} */ (await page.evaluate('window.intervals'))
    const traced = new Promise(resolve => session.once('Tracing.tracingComplete', resolve))
    await session.send('Tracing.end')
    await traced
    const busy = busyPerFrame(events)
    return { phase: 'cold', records: intervals.length, bytes: 0, seconds, latency: summary(what === 'busy' ? busy : intervals) }
  } finally {
    await browser.close()
  }
}

/** In the page. */
function watchFrames () {
  const page = /** @type {any} */ (globalThis)
  page.intervals = []
  let last = performance.now()
  const next = (/** @type {number} */ now) => {
    page.intervals.push(now - last)
    last = now
    page.requestAnimationFrame(next)
  }
  page.requestAnimationFrame(next)
}

/**
 * @param {any[]} events of a trace
 * @returns {number[]} milliseconds of CPU that the main thread took from one frame to the next
 */
function busyPerFrame (events) {
  const frames = events.filter(({ name }) => name === 'FireAnimationFrame').sort((a, b) => a.ts - b.ts)
  const { pid, tid } = frames[0]
  const tasks = events.filter(event => event.pid === pid && event.tid === tid && event.ph === 'X' && event.name === 'ThreadControllerImpl::RunTask').sort((a, b) => a.ts - b.ts)
  let next = 0
  return frames.map(({ ts }) => {
    let busy = 0
    for (; next < tasks.length && tasks[next].ts < ts; next++) busy += tasks[next].tdur / 1000
    return busy
  }).slice(1)
}

module.exports = { timeFrames, hasBrowser: findBrowser() !== null }
