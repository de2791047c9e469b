'use strict'

/* global flumelog */

// A tab that the browser discards to save memory: by a button of chrome://discards. It discards none that is being debugged.

const puppeteer = require('puppeteer-core')
const test = require('tape')
const { inBrowser } = require('./helpers/browser')
const { findBrowser, launch } = require('../../view/test/helpers/chromium')

/** A busy machine is slow. Milliseconds. */
const OPTIONS = { shared: true, codec: 'json', blockSize: 1024, timeout: 50000 }
const DISCARDS = 'chrome://discards/'
const TITLE = 'to be discarded'
const RECORDS = 100
/** Milliseconds, of each wait. */
const TIMEOUT = 60000
/** Pages in the background paint nothing. */
const WAIT = { polling: 100, timeout: TIMEOUT }

/**
 * In a page of the browser's own: clicks what has one text, in a row with another, if it is there.
 * @returns {boolean} whether it was there, or not, as expected
 */
function clickIn (isExpected, text, row) {
  const found = []
  const search = (node) => {
    if (node.shadowRoot) search(node.shadowRoot)
    for (const child of node.children) search(child)
    if (node.children.length === 0 && node.textContent.includes(text) && (row === undefined || node.closest('tr')?.textContent.includes(row))) found.push(node)
  }
  search(document.body)
  found[0]?.click()
  return (found.length > 0) === isExpected
}

inBrowser(({ address }) => {
  test('a tab that is discarded has ended like one that was closed: another one takes over, with what was acknowledged, and it comes back as a client', async (t) => {
    const browser = await launch(findBrowser())
    const chromium = browser.process()
    t.teardown(() => chromium.kill('SIGKILL'))
    const browserWSEndpoint = browser.wsEndpoint()
    const [owner, other, settings] = [await browser.newPage(), await browser.newPage(), await browser.newPage()]
    for (const page of [owner, other]) {
      await page.goto(address(), { waitUntil: 'load' })
      await page.evaluate(async (options) => { globalThis.log = await flumelog.open('discarded', options) }, OPTIONS)
    }
    await owner.evaluate(async ({ title, records }) => {
      document.title = title
      for (let n = 0; n < records; n++) await globalThis.log.append({ n })
    }, { title: TITLE, records: RECORDS })
    await settings.goto('chrome://chrome-urls')
    await settings.waitForFunction(clickIn, WAIT, true, 'Enable internal debugging pages')
    while (settings.url() !== DISCARDS || await settings.title() !== 'Discards') await settings.goto(DISCARDS)
    await browser.disconnect()

    const discarding = await puppeteer.connect({ browserWSEndpoint, protocolTimeout: TIMEOUT, targetFilter: target => ['browser', 'tab'].includes(target.type()) || target.url() === DISCARDS })
    const [discards] = await discarding.pages()
    await discards.waitForFunction(clickIn, WAIT, true, '[Urgent Discard]', TITLE)
    // until it is gone from the list: as long as the browser takes it for debugged, a click does nothing
    await discards.waitForFunction(clickIn, WAIT, false, '[Urgent Discard]', TITLE)
    await discarding.disconnect()

    const reconnected = await puppeteer.connect({ browserWSEndpoint, protocolTimeout: TIMEOUT })
    const pages = (await reconnected.pages()).filter(page => page.url() === address())
    t.equal(pages.length, 2)
    // the browser loads it again when somebody looks at it
    const handles = await Promise.all(pages.map(page => page.waitForFunction(() => document.wasDiscarded ? 'discarded' : globalThis.log && 'left', WAIT)))
    const kinds = await Promise.all(handles.map(handle => handle.jsonValue()))
    t.deepEqual([...kinds].sort(), ['discarded', 'left'], 'one of the tabs was discarded')
    const [discarded, left] = ['discarded', 'left'].map(kind => pages[kinds.indexOf(kind)])
    const role = await left.evaluate(async () => {
      const { log } = globalThis
      await log.append({ n: 'after' })
      return log.role
    })
    t.equal(role, 'owner')
    await discarded.waitForFunction(() => globalThis.flumelog !== undefined, WAIT)
    const seen = await discarded.evaluate(async (options) => {
      const log = await flumelog.open('discarded', options)
      const values = []
      for await (const { value } of log.stream()) values.push(value.n)
      return { role: log.role, values }
    }, OPTIONS)
    t.deepEqual(seen, { role: 'client', values: [...Array.from({ length: RECORDS }, (_, n) => n), 'after'] })
    await reconnected.close()
  })
})
