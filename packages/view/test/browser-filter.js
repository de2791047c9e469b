'use strict'

// What the page says of a filter: how much of the log it has looked at, and what it has passed over.

const test = require('tape')
const FlumeLog = require('flumelog-random-access-file')
const { viewer, inBrowser, makeNumbered, record, seen, shows, hasText } = require('./helpers/browser')
const { promises } = require('../../../test/helpers/promises')
const { testFolder, processFolder } = require('../../../test/helpers/folder')
const { makeLog, deleteFrom, overwrite } = require('../../../test/helpers/logs')

const BLOCK = 65536
const RECORDS = 20000
const file = `${processFolder()}/filter.log`

inBrowser(({ visit }) => {
  let address
  /** Whether what is said of the filter is all done, and is this. */
  const says = (page, text) => page.until((text) => document.querySelector('.scan [role=status]')?.textContent === text, text)
  const filter = async (page, text) => {
    await page.fill('#filter', text)
    await page.page.keyboard.press('Enter')
  }

  test('a log can be viewed', async (t) => {
    await makeNumbered(file, RECORDS)
    address = await viewer({ teardown: test.onFinish }, file)
    t.match(address, /^http:/)
  })

  test('a filter says how many records it has looked at, and whether there may be more', async (t) => {
    const page = await visit(address)
    const { keyboard } = page.page
    await page.open()
    await page.page.waitForSelector(seen)
    await filter(page, 'i > 17500')
    await says(page, '1,000 hits in 18,501 records so far: scroll down for more')
    await page.page.focus('#records')
    await keyboard.press('G')
    await says(page, '1,000 hits in 1,000 records so far: scroll up for more')
    // rows on the other side are dropped, and read again
    for (const [key, last] of [['PageUp', '"i":17501,'], ['PageDown', `"i":${RECORDS - 1},`]]) {
      while (!await page.page.evaluate(shows, last)) await keyboard.press(key)
      await says(page, '2,499 hits in 20,000 records')
    }
    await page.fill('#jump', 'end')
    await keyboard.press('Enter')
    await page.until(() => document.activeElement?.id === 'records')
    await filter(page, 'no such text')
    await says(page, '0 hits in 20,000 records')
    await filter(page, 'j > 5')
    await page.until(hasText, '.empty', 'No record has a value at “j”. To look for text, put it in quotes: "j > 5"')
    await filter(page, '"i = 5"')
    await page.until(hasText, '.empty', 'No record matches.')
    await filter(page, 'i == 5')
    await page.until(hasText, '.toast', '`==` is no operator: write path = value')
    page.problems.length = 0 // the browser tells of the answer 400, too
    t.deepEqual(page.problems, [])
  })

  test('a jump leaves the focus in a field to which somebody has gone meanwhile', async (t) => {
    const page = await visit(address)
    await page.open()
    await page.page.waitForSelector(seen)
    await page.page.evaluate(() => {
      const { fetch } = window
      window.fetch = async (url, ...rest) => {
        if (String(url).includes('find?')) await new Promise(resolve => { window.answer = resolve })
        return fetch(url, ...rest)
      }
    })
    await page.fill('#jump', 'end')
    await page.page.keyboard.press('Enter')
    await page.until(() => window.answer !== undefined)
    await page.page.focus('#filter')
    await page.page.evaluate(() => window.answer())
    await page.until(shows, `"i":${RECORDS - 1},`)
    t.equal(await page.page.evaluate(() => document.activeElement.id), 'filter')
    t.deepEqual(page.problems, [])
  })

  test('records that were counted for Numbers are told in each view', async (t) => {
    const page = await visit(address)
    await page.open('view=numbers')
    await page.until(hasText, '.tiles', '20,000')
    await page.page.keyboard.press('1')
    await page.until(hasText, '.status', '20,000 records · offsets 0 to')
    t.deepEqual(page.problems, [])
  })

  test('the histogram of record sizes has a bar and a label for each size, also for sizes that are counted later', async (t) => {
    const file = testFolder(t)('log')
    const append = async (size) => {
      const log = promises(FlumeLog(file))
      await log.append('x'.repeat(size))
      await log.close()
    }
    await append(100)
    const page = await visit(await viewer(t, file))
    const { identifier } = await page.page.evaluateOnNewDocument(() => {
      const { fillText } = window.CanvasRenderingContext2D.prototype
      window.drawn = new Set()
      window.CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
        window.drawn.add(text)
        return fillText.call(this, text, ...rest)
      }
    })
    await page.open('view=numbers')
    await page.until(() => window.drawn.has('64 bytes'))
    await append(1000)
    await append(10)
    await page.until(hasText, '.note', 'were appended since')
    await page.page.evaluate(() => { [...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Count again').click() })
    await page.until(() => ['8 bytes', '64 bytes', '512 bytes'].every(label => window.drawn.has(label)))
    await page.page.removeScriptToEvaluateOnNewDocument(identifier)
    t.deepEqual(page.problems, [])
  })

  test('a filter counts neither deleted records nor those of corrupt blocks, of which it tells', async (t) => {
    const file = testFolder(t)('log')
    const seqs = await makeLog(file, Array.from({ length: 6000 }, (_, i) => JSON.stringify(record(i))))
    await deleteFrom(file, seqs.slice(0, 500))
    const corrupt = seqs.filter(seq => seq >= BLOCK && seq < 2 * BLOCK).length
    overwrite(file, BLOCK + 1000, 'damaged')
    const page = await visit(await viewer(t, file))
    await page.open('q=i+%3D+5999')
    await says(page, `1 hit in ${(6000 - 500 - corrupt).toLocaleString('en-US')} records; 1 corrupt block passed over`)
    t.deepEqual(page.problems, [])
  })

  test('rows of what is trimmed meanwhile leave the list', async (t) => {
    const file = testFolder(t)('log')
    const log = promises(FlumeLog(file))
    await log.append(Array.from({ length: 6000 }, (_, i) => JSON.stringify(record(i))))
    const page = await visit(await viewer(t, file))
    await page.open()
    await page.until(shows, '"i":0,')
    const start = await log.trim({ lt: 2 * BLOCK })
    t.equal(start, 2 * BLOCK)
    await page.until((start) => Number(document.querySelector('.rows .row[data-seq]')?.dataset.seq) >= start, start)
    t.deepEqual(page.problems, [])
    await log.close()
  })
})
