'use strict'

// What the page writes: offsets, numbers, times and names as they are, however large or odd.

const test = require('tape')
const FlumeLog = require('flumelog-random-access-file')
const { viewer, inBrowser, record, seen, hasText, shows } = require('./helpers/browser')
const { viewOf } = require('./helpers/view')
const { promises } = require('../../../test/helpers/promises')
const { testFolder } = require('../../../test/helpers/folder')
const { makeLog } = require('../../../test/helpers/logs')

inBrowser(({ visit }) => {
  test('offsets of a log of terabytes are shown whole', async (t) => {
    const log = promises(FlumeLog(testFolder(t)('log')))
    await log.append(Array.from({ length: 20 }, (_, i) => JSON.stringify(record(i))))
    const { server, port, api } = await viewOf(t, log.log)
    const [answer] = /** @type {import('http').RequestListener[]} */ (server.listeners('request'))
    const { rows } = await api('records')
    const base = 3e12
    const bounds = { id: '0', start: 0, end: base + 1000, count: 0, lag: 0 }
    server.removeAllListeners('request').on('request', (request, response) => {
      const json = (value) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
      if (request.url.includes('api/live')) return json(bounds)
      if (request.url.includes('api/log')) return json({ ...bounds, name: 'large', lastSeq: base, blockSize: 65536, checksum: true, large: true, encoding: 'json', encodings: ['json'] })
      if (request.url.includes('api/records')) return json({ ...bounds, rows: rows.map(row => ({ ...row, seq: base + row.seq })), next: null, at: base + 1000, warning: null })
      answer(request, response)
    })
    const page = await visit(`http://127.0.0.1:${port}/`)
    for (const width of [1280, 390]) {
      await page.page.setViewport({ width, height: 700 })
      await page.open(`at=${base}`)
      await page.page.waitForSelector(seen)
      const cells = await page.page.$$eval('.rows .row .offset', cells => cells.map(cell => ({ text: cell.textContent, isWhole: cell.scrollWidth <= cell.clientWidth })))
      t.ok(cells.length > 5 && cells.every(({ isWhole }) => isWhole), `${width} pixels`)
      t.match(cells[0].text, /^3,000,000,000,\d{3}$/)
    }
    await log.close()
  })

  test('long integers of a large record are not rounded, and a list that is cut says that there is more', async (t) => {
    const log = promises(FlumeLog(testFolder(t)('log'), { large: true }))
    await log.append(JSON.stringify({ id: 1, small: [1, 2], text: 'x'.repeat(1500000) }).replace('"id":1,', '"id":9007199254740993,'))
    const seq = await log.append(JSON.stringify({ small: [1, 2], list: Array.from({ length: 800000 }, (_, i) => i) }))
    const { port } = await viewOf(t, log.log)
    const page = await visit(`http://127.0.0.1:${port}/`)
    await page.open()
    await page.page.waitForSelector(seen)
    await page.click(`${seen}:first-child`)
    await page.until(hasText, '.tree', '9007199254740993')
    await page.go(`seq=${seq}&panel=tree`)
    await page.until(hasText, '.tree', '[at least ')
    t.match(await page.text('.tree'), /small: \[2\]/, 'what is whole has its length')
    await log.close()
  })

  test('the times of rows are in UTC, to the millisecond, and have the zone of the browser in their titles', async (t) => {
    const file = testFolder(t)('log')
    await makeLog(file, ['2024-03-01T10:00:00.007Z', '2024-03-01T10:00:00.070Z', '2024-03-01T10:00:01.000Z'].map(at => JSON.stringify({ at })))
    const page = await visit(await viewer(t, file))
    await page.page.emulateTimezone('Asia/Tokyo')
    await page.open()
    await page.page.waitForSelector(seen)
    const times = await page.page.$$eval(`${seen} .time`, cells => cells.map(cell => cell.textContent))
    t.deepEqual(times, ['2024-03-01 10:00:00.007', '2024-03-01 10:00:00.070', '2024-03-01 10:00:01.000'])
    t.ok(await page.page.$$eval(`${seen} .time`, cells => cells.every(cell => cell.scrollWidth <= cell.clientWidth)), 'none is cut off')
    t.match(await page.page.$eval(`${seen} .time`, cell => cell.title), /^2024-03-01 19:00:00 /)
    await page.page.emulateTimezone()
    t.deepEqual(page.problems, [])
  })

  test('names and records show what is hidden in them, and joiners of emoji and of Persian as such; the filter keeps the focus; keys fit on small screens', async (t) => {
    const file = testFolder(t)('log \u202etxt.exe')
    const texts = ['family 👩\u200d👩\u200d👧', 'می\u200cخواهم', 'a\u200db']
    await makeLog(file, texts)
    const page = await visit(await viewer(t, file))
    await page.open()
    await page.until(shows, 'family')
    t.deepEqual((await page.rows()).map(({ text }) => text), [texts[0], texts[1], 'a\\u200db'])
    t.match(await page.text('h1'), /log \\u202etxt\.exe/)
    t.match(await page.page.title(), /log \\u202etxt\.exe/)
    await page.fill('#filter', 'family')
    await page.page.keyboard.press('Enter')
    await page.until(hasText, '.scan [role=status]', '1 hit')
    t.equal(await page.page.evaluate(() => document.activeElement.id), 'filter')
    await page.page.setViewport({ width: 390, height: 800 })
    await page.click('button[aria-label="Help: keys"]')
    await page.page.waitForSelector('.keys')
    t.ok(await page.page.$$eval('.keys div', rows => rows.every(row => {
      const [keys, text] = [row.querySelector('dt'), row.querySelector('dd')].map(part => part.getBoundingClientRect())
      const isWithin = [...row.querySelectorAll('kbd')].every(key => key.getBoundingClientRect().right <= keys.right + 1)
      return isWithin && (keys.bottom <= text.top + 1 || keys.right <= text.left)
    })), 'no key is over its text')
    t.deepEqual(page.problems, [])
  })
})
