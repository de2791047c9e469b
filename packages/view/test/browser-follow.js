'use strict'

// The page while records are appended: nothing is missed, whatever the network is like.

const test = require('tape')
const FlumeLog = require('flumelog-random-access-file')
const { inBrowser, record, numberOf, seen, shows, hasText } = require('./helpers/browser')
const { viewOf } = require('./helpers/view')
const { promises } = require('../../../test/helpers/promises')
const { testFolder } = require('../../../test/helpers/folder')

/** Milliseconds until an answer is there, as through a tunnel. */
const LATENCY = 300

inBrowser(({ visit }) => {
  /** A log with some records, and a page that shows it. */
  const shown = async (t, records) => {
    const log = promises(FlumeLog(testFolder(t)('log')))
    const append = (from, count) => log.append(Array.from({ length: count }, (_, i) => JSON.stringify(record(from + i))))
    await append(0, records)
    const { server, port } = await viewOf(t, log.log)
    const [answer] = /** @type {import('http').RequestListener[]} */ (server.listeners('request'))
    const answerWith = (/** @type {import('http').RequestListener} */ other) => server.removeAllListeners('request').on('request', other)
    const page = await visit(`http://127.0.0.1:${port}/`)
    return { log, append, page, answer, answerWith }
  }

  test('a list at its end shows all that is appended, through a slow network, in bursts and one by one', async (t) => {
    const { log, append, page, answer, answerWith } = await shown(t, 300)
    answerWith((request, response) => setTimeout(answer, LATENCY, request, response))
    await page.open()
    await page.page.waitForSelector(seen)
    await page.page.keyboard.press('G')
    await page.until(shows, '"i":299,')
    let count = 300
    for (let round = 0; round < 3; round++) {
      await append(count, 60)
      count += 60
      // longer than an answer takes
      for (let i = 0; i < 30; i++) {
        await append(count++, 1)
        await new Promise(resolve => setTimeout(resolve, 20))
      }
      await page.until(shows, `"i":${count - 1},`)
      t.deepEqual(await page.rows().then(rows => rows.map(numberOf)), await page.rows().then(rows => rows.map((_, i) => count - rows.length + i)), `${count} records, without a gap`)
    }
    // all that was loaded: the page keeps what it has shown
    const numbers = new Set()
    while (!numbers.has(290)) {
      for (const row of await page.rows()) numbers.add(numberOf(row))
      await page.page.$eval('.rows', rows => rows.dispatchEvent(new window.WheelEvent('wheel', { deltaY: -300, bubbles: true })))
      await page.page.evaluate(() => new Promise(resolve => window.requestAnimationFrame(resolve)))
    }
    t.deepEqual([...Array(count).keys()].filter(i => i > 290 && !numbers.has(i)), [], 'no record is missing')
    t.deepEqual(page.problems, [])
    await log.close()
  })

  test('a filtered list follows its end', async (t) => {
    const { log, append, page } = await shown(t, 20)
    await page.open('q=i+%3E+15')
    await page.until(hasText, '.scan [role=status]', '4 hits in 20 records')
    await append(20, 1)
    await page.until(shows, '"i":20,')
    await log.append('{"i":1}')
    await append(21, 300)
    await page.until(shows, '"i":320,')
    await page.until(hasText, '.scan [role=status]', '305 hits in 322 records')
    const numbers = (await page.rows()).map(numberOf)
    t.deepEqual(numbers, numbers.map((_, index) => 321 - numbers.length + index), 'it stays at the end')
    t.equal(await page.page.$('.pill'), null)
    t.deepEqual(page.problems, [])
    await log.close()
  })

  test('a filter without hits shows the first one that is appended', async (t) => {
    const { log, append, page } = await shown(t, 20)
    await page.open('q=i+%3E+1000')
    await page.until(hasText, '.empty', 'No record matches')
    await append(1001, 1)
    await page.until(shows, '"i":1001,')
    t.deepEqual(page.problems, [])
    await log.close()
  })

  test('ten windows of one view are all shown, and all follow the log', async (t) => {
    const { log, append, page } = await shown(t, 5)
    await page.open()
    await page.until(shows, '"i":4,')
    const browser = page.page.browser()
    const session = await browser.target().createCDPSession()
    const windows = []
    for (let i = 0; i < 9; i++) {
      const { targetId } = await session.send('Target.createTarget', { url: page.address, newWindow: true })
      const target = await browser.waitForTarget(target => /** @type {any} */ (target)._targetId === targetId)
      windows.push(await target.page())
    }
    for (const other of windows) await other.waitForFunction(shows, { polling: 20, timeout: 60000 }, '"i":4,')
    t.equal((await Promise.all(windows.map(other => other.evaluate(() => document.visibilityState)))).filter(state => state === 'visible').length, 9, 'all of them are seen')
    await append(5, 1)
    for (const other of windows) await other.waitForFunction(shows, { polling: 20, timeout: 60000 }, '"i":5,')
    for (const other of windows) await other.close()
    await session.detach()
    t.deepEqual(page.problems, [])
    await log.close()
  })
})
