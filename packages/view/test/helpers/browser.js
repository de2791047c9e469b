'use strict'

// The page of `flumelog view` in a real browser.

const test = require('tape')
const FlumeLog = require('flumelog-random-access-file')
const { findBrowser, launch } = require('./chromium')
const { start } = require('../../../../test/helpers/command-line')
const { promises } = require('../../../../test/helpers/promises')

/**
 * Starts `flumelog view`, until the test ends, or all tests.
 * @param {{ teardown: (stop: () => void) => void }} t
 * @param {string} file
 * @param {string[]} [options]
 * @returns {Promise<string>} the address that it prints
 */
async function viewer (t, file, options = []) {
  const running = start(t, ['view', file, '--no-open', ...options])
  const find = (/** @type {any} */ { stdout, stderr }) => `${stdout}\n${stderr}`.match(/http:\/\/127\.0\.0\.1:\d+\/\S*/)
  await running.printed(find)
  return find(running)[0]
}

/** A page, and what must not happen on it. */
class Visit {
  /**
   * @param {import('puppeteer-core').Page} page
   * @param {string} address
   */
  constructor (page, address) {
    this.page = page
    this.address = address
    this.base = new URL('.', address).href
    /** Errors, warnings, dialogs, and requests to elsewhere. @type {string[]} */
    this.problems = []
    const watch = (name, handler) => page.off(name).on(name, handler)
    watch('pageerror', (err) => this.problems.push(String(err)))
    watch('console', (message) => { if (['error', 'warn'].includes(message.type())) this.problems.push(message.text()) })
    watch('dialog', (dialog) => {
      this.problems.push(`dialog: ${dialog.message()}`)
      dialog.dismiss()
    })
    watch('request', (request) => {
      if (!request.url().startsWith(this.base) && !request.url().startsWith('data:')) this.problems.push(`request of ${request.url()}`)
    })
  }

  /** Loads the page in a state; without one, it starts at the end of the log. @param {string} [fragment] */
  async open (fragment = 'at=0') {
    const isThere = this.isKnown && this.page.url().startsWith(this.base)
    // a tab keeps the token
    if (!isThere) await this.page.goto(this.isKnown ? this.base : this.address, { waitUntil: 'domcontentloaded' })
    this.isKnown = true
    if (!isThere && fragment === '') return
    await this.go(fragment)
    await this.page.reload({ waitUntil: 'domcontentloaded' })
  }

  /** Goes to a state, without loading the page again. @param {string} fragment */
  async go (fragment) {
    await this.page.evaluate((fragment) => { window.location.hash = fragment }, fragment)
  }

  /** Waits until an expression is true in the page. @param {string | Function} condition @param {...any} args */
  async until (condition, ...args) {
    await this.page.waitForFunction(/** @type {any} */ (condition), { polling: 20, timeout: 60000 }, ...args)
  }

  /** Waits for an element, and clicks on it. @param {string} selector */
  async click (selector) {
    // what is still being loaded may move it
    await this.page.locator(selector).setTimeout(60000).click()
  }

  /** @param {string} selector @returns {Promise<string>} its text */
  text (selector) {
    return this.page.$eval(selector, element => element.textContent)
  }

  /** @returns {Promise<{ seq: number, text: string }[]>} what the list shows */
  rows () {
    return this.page.$$eval('.rows .row[data-seq]', (rows) => {
      const { top, bottom } = document.querySelector('.rows').getBoundingClientRect()
      const isSeen = (row) => row.getBoundingClientRect().bottom > top + 1 && row.getBoundingClientRect().top < bottom - 1
      return rows.filter(isSeen).map(row => ({ seq: Number(row.dataset.seq), text: row.querySelector('.line').textContent }))
    })
  }

  /** Writes a text into a field. @param {string} selector @param {string} text */
  async fill (selector, text) {
    await this.page.waitForSelector(selector)
    await this.page.$eval(selector, element => element.select())
    await this.page.keyboard.press('Backspace')
    await this.page.type(selector, text)
  }

  /** @param {'light' | 'dark'} scheme */
  scheme (scheme) {
    return this.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
  }
}

/**
 * Visits with a page that is there already: another one would be another process.
 * @param {import('puppeteer-core').Page} page
 * @param {string} address
 */
async function visit (page, address) {
  await page.goto('about:blank')
  page.setDefaultTimeout(60000)
  await page.emulateMediaFeatures([])
  await page.setViewport({ width: 1280, height: 800 })
  return new Visit(page, address)
}

/** The time of the first record of a `numbered` log. */
const START = Date.parse('2024-01-01T00:00:00Z')
const record = (/** @type {number} */ i) => ({ i, timestamp: START + i * 1000 })
const numberOf = (/** @type {{ text: string }} */ { text }) => JSON.parse(text).i

/** Makes a log of numbered records. @param {string} file @param {number} records */
async function makeNumbered (file, records) {
  const log = promises(FlumeLog(file))
  for (let i = 0; i < records; i += 20000) await log.append(Array.from({ length: Math.min(20000, records - i) }, (_, k) => JSON.stringify(record(i + k))))
  await log.close()
}

/**
 * Runs tests in a browser that they share. Without one, a line says so; with CI set, that is a failure.
 * @param {(shared: { visit: (address: string) => Promise<Visit> }) => void} define
 */
function inBrowser (define) {
  const executable = findBrowser()
  if (executable === null && process.env.CI === undefined) {
    test('the page in a browser', { skip: 'there is no chromium: apt-get install chromium' }, () => {})
    return
  }
  /** @type {import('puppeteer-core').Browser} */
  let browser
  /** @type {import('puppeteer-core').Page} */
  let page
  test('a browser is there', async (t) => {
    t.notEqual(executable, null, 'there is chromium in PATH')
    browser = await launch(executable)
    page = await browser.newPage()
  })
  define({ visit: (address) => visit(page, address) })
  test.onFinish(() => browser?.close())
}

// Conditions, in the page

/** Selector of the rows of records. */
const seen = '.rows .row[data-seq]'
/** Whether the list shows a record whose line contains a text. */
const shows = (text) => [...document.querySelectorAll('.rows .row .line')].some(line => line.textContent.includes(text))
const hasSelected = (text) => document.querySelector('.row[aria-selected=true] .line')?.textContent.includes(text)
const hasText = (selector, text) => document.querySelector(selector)?.textContent.includes(text)
/** Whether a record is shown beside the list, all of it. */
const isOpen = (seq) => document.querySelector('.panel h2 .mono')?.textContent === seq.toLocaleString('en-US') && document.querySelector('.panel').ariaBusy === 'false'

module.exports = { viewer, inBrowser, record, numberOf, makeNumbered, seen, shows, hasSelected, hasText, isOpen }
