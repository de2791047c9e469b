'use strict'

/* global Worker */

// A page in a real browser that has the bundled package.

const fs = require('fs')
const http = require('http')
const path = require('path')
const puppeteer = require('puppeteer-core')
const test = require('tape')
const { bundle } = require('../../build')
const { findBrowser, launch } = require('../../../view/test/helpers/chromium')
const { processFolder } = require('../../../../test/helpers/folder')

const TYPES = { '.mjs': 'text/javascript', '.html': 'text/html' }
const INSECURE = 'insecure.test'
/** `npm run test:firefox` sets it. */
const isFirefox = process.env.BROWSER === 'firefox'
const PAGE = '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>flumelog</title><script type="module" src="/page.mjs"></script>'

/**
 * Serves the bundle, the workers of the tests, and an empty page for any other address.
 * @param {string} dist
 * @returns {Promise<http.Server>}
 */
function serve (dist) {
  const server = http.createServer(({ url }, response) => {
    const name = path.basename(new URL(url, 'http://localhost').pathname)
    const file = [dist, __dirname].map(folder => path.join(folder, name)).find(file => name.endsWith('.mjs') && fs.existsSync(file))
    response.setHeader('content-type', TYPES[file === undefined ? '.html' : '.mjs'])
    response.end(file === undefined ? PAGE : fs.readFileSync(file))
  })
  return new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(server)))
}

/**
 * Runs tests in a browser that they share. Without one, a line says so; with CI set, that is a failure.
 * @param {(shared: { dist: string, open: (url?: string) => Promise<import('puppeteer-core').Page>, insecureAddress: () => string, browser: () => import('puppeteer-core').Browser, address: () => string }) => void} define
 */
function inBrowser (define) {
  const executable = isFirefox ? findBrowser(['firefox-esr', 'firefox']) : findBrowser()
  const name = isFirefox ? 'firefox-esr' : 'chromium'
  if (executable === null && process.env.CI === undefined) {
    test('a log in a browser', { skip: `there is no ${name}: apt-get install ${name}` }, () => {})
    return
  }
  const dist = path.join(processFolder(), 'dist')
  /** @type {import('puppeteer-core').Browser} */
  let browser
  /** @type {http.Server} */
  let server
  const address = () => `http://127.0.0.1:${server.address().port}/`
  test('a browser is there', async (t) => {
    t.notEqual(executable, null, `there is ${name} in PATH`)
    await bundle(dist, { minify: false })
    server = await serve(dist)
    if (isFirefox) browser = await puppeteer.launch({ browser: 'firefox', executablePath: executable, headless: true, protocolTimeout: 60000 })
    // a name that is no secure context; and a tab that crashes must not take others with it
    else browser = await launch(executable, [`--host-resolver-rules=MAP ${INSECURE} 127.0.0.1`, '--renderer-process-limit=100'], ['--disable-back-forward-cache'])
  })
  define({
    dist,
    browser: () => browser,
    address,
    insecureAddress: () => address().replace('127.0.0.1', INSECURE),
    open: async (url = address()) => {
      const page = await browser.newPage()
      page.setDefaultTimeout(60000)
      page.on('console', message => { if (process.env.VERBOSE) console.log(`# ${message.text()}`) })
      page.on('pageerror', err => console.log(`# ${err}`))
      // the script of the page has run by then, which sets `flumelog`
      await page.goto(url, { waitUntil: 'load' })
      return page
    }
  })
  test.onFinish(() => {
    server?.closeAllConnections()
    server?.close()
    return browser?.close()
  })
}

/**
 * Runs a function in a dedicated worker of a page.
 * @param {import('puppeteer-core').Page} page
 * @param {(log: any, argument: any) => any} run given what dist/log.mjs exports
 * @param {any} [argument]
 * @returns {Promise<any>} what it returns
 */
function inWorker (page, run, argument) {
  return page.evaluate(async (code, argument) => {
    const worker = new Worker('/runner.mjs', { type: 'module' })
    try {
      return await new Promise((resolve, reject) => {
        worker.onmessage = ({ data }) => 'failed' in data ? reject(new Error(data.failed)) : resolve(data.result)
        worker.onerror = (event) => reject(new Error(event.message))
        worker.postMessage({ code, argument })
      })
    } finally {
      worker.terminate()
    }
  }, String(run), argument)
}

module.exports = { inBrowser, inWorker, isFirefox }
