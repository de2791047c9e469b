'use strict'

// The page of `flumelog view` in a real browser, as somebody sees and uses it. All tests share the browser,
// and its page.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('flumelog-random-access-file')
const { viewer, inBrowser, record, numberOf, makeNumbered, seen, shows, hasSelected, hasText, isOpen } = require('./helpers/browser')
const { testFolder, processFolder } = require('../../../test/helpers/folder')
const { makeLog, deleteFrom, overwrite } = require('../../../test/helpers/logs')
const { promises } = require('../../../test/helpers/promises')
const { thorough } = require('../../../test/helpers/thorough')

const RECORDS = 2000000
/** Script and style together, as they are transferred. */
const MAX_ASSETS = 120000
const BLOCK = 65536
/** Places at which the list is looked at while its scroll bar is dragged. */
const STEPS = thorough ? 20 : 8

const folder = processFolder()
/** A log of 2,000,000 records, and one of some blocks, for what reads all of it; with the addresses of their viewers. */
const long = { file: `${folder}/long.log`, records: RECORDS, address: '' }
const short = { file: `${folder}/short.log`, records: 20000, address: '' }

inBrowser(({ visit }) => {
  test('the logs can be viewed', async (t) => {
    for (const log of [long, short]) {
      await makeNumbered(log.file, log.records)
      log.address = await viewer({ teardown: test.onFinish }, log.file)
      t.match(log.address, /^http:/)
    }
  })

  test('the page opens with the first records, and asks nobody else', async (t) => {
    const page = await visit(long.address)
    await page.open()
    await page.until(shows, '"i":9,')
    const rows = await page.rows()
    t.equal(rows[0].seq, 0)
    t.deepEqual(JSON.parse(rows[0].text), record(0))
    t.notOk(page.page.url().includes('token'), 'the token is not in the address')
    t.deepEqual(await page.page.cookies(), [], 'nor in a cookie, which each server on this machine would get')
    await page.open('view=numbers')
    await page.page.waitForSelector('.chart canvas')
    const size = await page.page.evaluate(() => performance.getEntriesByType('resource').filter(({ name }) => /\.(js|css)$/.test(name)).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0))
    t.ok(size > 0 && size < MAX_ASSETS, `script and style: ${size} bytes`)
    t.deepEqual(page.problems, [])
  })

  test('the list scrolls over 2,000,000 records from one end to the other, in order', async (t) => {
    const page = await visit(long.address)
    await page.open()
    await page.until(shows, '"i":9,')
    const track = await (await page.page.$('.scrollbar')).boundingBox()
    const thumb = await (await page.page.$('.thumb')).boundingBox()
    const size = fs.statSync(long.file).size
    const x = track.x + track.width / 2
    const grip = thumb.height / 2
    await page.page.mouse.move(x, thumb.y + grip)
    await page.page.mouse.down()
    for (let step = 1; step <= STEPS; step++) {
      const share = step / STEPS
      await page.page.mouse.move(x, track.y + grip + share * (track.height - thumb.height))
      // what is seen is where the pointer is
      await page.until((share, size) => {
        const rows = document.querySelectorAll('.rows .row[data-seq]')
        if (rows.length === 0 || document.querySelector('[aria-busy=true]') !== null) return false
        const seqs = [...rows].map(row => Number(row.dataset.seq))
        return share === 1 ? document.querySelector('.rows').textContent.includes('1999999') : Math.abs(seqs[0] - share * size) < size / 200
      }, share, size)
      const numbers = (await page.rows()).map(numberOf)
      if (numbers.some((number, index) => index > 0 && number !== numbers[index - 1] + 1)) t.fail(`at ${share}: ${numbers}`)
    }
    await page.page.mouse.up()
    t.equal((await page.rows()).map(numberOf).at(-1), RECORDS - 1, 'the last record is seen at the end')
    t.equal(await wheel(page, -1), 0, 'by the wheel, records are seen without a gap')
    await page.page.keyboard.press('g')
    await page.until(shows, '"i":0,')
    t.equal((await page.rows())[0].seq, 0)
    t.equal(await wheel(page, 1), 0, 'and downward')
    t.ok(await page.page.$$eval('.rows *', elements => elements.length) < 2000, 'only what is seen is in the page')
    t.deepEqual(page.problems, [])
  })

  test('one can jump to an offset, a share, the end, a date and a value', async (t) => {
    const page = await visit(long.address)
    await page.open()
    for (const [target, expected] of [
      ['end', RECORDS - 1], ['start', 0], ['i = 777777', 777777], ['2024-01-10T00:00:00Z', 9 * 86400], ['timestamp = 2024-01-02', 86400]
    ]) {
      await page.fill('#jump', target)
      await page.page.keyboard.press('Enter')
      await page.until(hasSelected, `"i":${expected},`)
      t.pass(`${target}: record ${expected}`)
    }
    const size = fs.statSync(long.file).size
    for (const [target, expected] of [['50 %', size / 2], [String(Math.floor(size / 4)), size / 4]]) {
      await page.fill('#jump', target)
      await page.page.keyboard.press('Enter')
      await page.until((expected) => Math.abs(Number(document.querySelector('.row[aria-selected=true]')?.dataset.seq) - expected) < 200, expected)
      t.pass(target)
    }
    await page.fill('#jump', 'nonsense')
    await page.page.keyboard.press('Enter')
    await page.until(hasText, '[role=alert]', 'to jump, write')
    t.deepEqual(page.problems, ['Failed to load resource: the server responded with a status of 400 (Bad Request)'])
  })

  test('a filter shows its hits, and is in the address', async (t) => {
    const page = await visit(short.address)
    await page.open()
    await page.fill('#filter', 'i > 19990')
    await page.page.keyboard.press('Enter')
    await page.until(hasText, '.scan [role=status]', '9 hits')
    t.deepEqual((await page.rows()).map(numberOf), Array.from({ length: 9 }, (_, k) => 19991 + k))
    t.ok(page.page.url().includes('q=i+%3E+19990'))
    await page.page.reload()
    await page.until(hasText, '.scan [role=status]', '9 hits')
    await page.fill('#filter', 'i = -1')
    await page.page.keyboard.press('Enter')
    await page.until(hasText, '.empty', 'No record matches')
    await page.fill('#filter', '"\\"i\\":12345,"')
    await page.page.keyboard.press('Enter')
    await page.until(hasText, '.scan [role=status]', '1 hit')
    await page.click(seen)
    await page.click('.panel .facts .link')
    await page.until(shows, '"i":12346,')
    t.pass('a hit is shown among all records')
    t.deepEqual(page.problems, [])
  })

  test('a filter can be stopped, and goes on', async (t) => {
    const page = await visit(long.address)
    await page.open()
    await page.page.waitForSelector(seen)
    // at once when the button is there: a filter may be quicker than what would wait for it from outside of the page
    await page.page.evaluate(() => {
      const observer = new window.MutationObserver(() => {
        const stop = [...document.querySelectorAll('.scan button')].find(({ textContent }) => textContent === 'Stop')
        if (stop === undefined) return
        observer.disconnect()
        stop.click()
      })
      observer.observe(document.body, { childList: true, subtree: true, characterData: true })
    })
    await page.fill('#filter', 'i = -1')
    await page.page.keyboard.press('Enter')
    await page.until(hasText, '.scan [role=status]', 'stopped')
    await page.click('.scan button')
    await page.until(hasText, '.empty', 'No record matches')
    t.deepEqual(page.problems, [])
  })

  test('the address has all that is seen, so that a page can be loaded again', async (t) => {
    const page = await visit(short.address)
    await page.open(`view=records&at=${5 * BLOCK}`)
    await page.page.waitForSelector(seen)
    const [first] = await page.rows()
    t.equal(first.seq, 5 * BLOCK)
    await page.click(`${seen}:nth-child(5)`)
    await page.page.waitForSelector('.tree')
    await page.click('#tab-hex')
    await page.page.waitForSelector('div.hex')
    const before = await page.text('.panel')
    await page.page.reload()
    await page.page.waitForSelector('div.hex')
    t.equal(await page.text('.panel'), before)
    t.equal((await page.rows())[0].seq, first.seq)
    await page.page.goBack()
    await page.until(() => document.querySelector('.panel') === null)
    t.pass('the back button goes back')
    t.deepEqual(page.problems, [])
  })

  test('what is appended elsewhere comes by itself, and does not move what one reads', async (t) => {
    const file = testFolder(t)('log')
    const log = promises(FlumeLog(file))
    await log.append(Array.from({ length: 500 }, (_, i) => JSON.stringify(record(i))))
    const page = await visit(await viewer(t, file))
    await page.open()
    await page.page.waitForSelector(seen)
    await page.until(hasText, '.status', 'live')
    await log.append(JSON.stringify(record(500)))
    await page.until(hasText, '.pill', '1 new record')
    t.equal((await page.rows())[0].seq, 0, 'the place is the same')
    await page.click('.pill')
    await page.until(shows, '"i":500,')
    await page.until(() => document.querySelector('.pill') === null)
    await log.append(JSON.stringify(record(501)))
    await page.until(shows, '"i":501,')
    t.pass('at the end, it follows')
    await log.append(Array.from({ length: 5000 }, (_, i) => JSON.stringify(record(502 + i))))
    await page.until(shows, '"i":5501,')
    const numbers = (await page.rows()).map(numberOf)
    t.deepEqual(numbers, numbers.map((_, index) => 5502 - numbers.length + index), 'without a gap')
    await page.page.mouse.move(400, 400)
    await page.page.mouse.wheel({ deltaY: -1000 })
    await page.until(() => !document.querySelector('.rows').textContent.includes('"i":5501,'))
    await log.append(Array.from({ length: 3 }, (_, i) => JSON.stringify(record(5502 + i))))
    await page.until(hasText, '.pill', '3 new records')
    await log.close()
    t.deepEqual(page.problems, [])
  })

  test('pages that were left, and tabs that are not seen, hold no connection; once seen again, they catch up', async (t) => {
    const file = testFolder(t)('log')
    const log = promises(FlumeLog(file))
    await log.append(Array.from({ length: 5 }, (_, i) => JSON.stringify(record(i))))
    const page = await visit(await viewer(t, file))
    // a browser has six connections to a server, and keeps pages for its Back button
    for (let times = 0; times < 7; times++) {
      await page.open()
      await page.until(hasText, '.status', 'live')
      await page.page.goto('about:blank')
    }
    await page.page.goBack()
    await page.until(shows, '"i":4,')
    await page.until(hasText, '.status', 'live')
    const other = await page.page.browser().newPage()
    await page.until(() => document.querySelector('.status').textContent.includes('not connected'))
    await log.append(JSON.stringify(record(5)))
    await other.close()
    await page.page.bringToFront()
    await page.until(shows, '"i":5,')
    await log.close()
    t.deepEqual(page.problems, [])
  })

  test('while the server does not answer, the page says so; when it does again, the list goes on', async (t) => {
    const page = await visit(short.address)
    await page.open()
    await page.until(shows, '"i":4,')
    await page.page.setOfflineMode(true)
    await page.page.keyboard.press('G')
    await page.until(hasText, '[role=alert]', 'does not answer')
    await page.page.setOfflineMode(false)
    await page.page.keyboard.press('G')
    await page.until(shows, `"i":${short.records - 1},`)
    await page.until(() => document.querySelector('[role=alert]') === null)
    t.pass('done')
  })

  test('damage is shown where it is, in the list, on the shelf, and by verify', async (t) => {
    const file = testFolder(t)('log')
    await makeLog(file, Array.from({ length: 20000 }, (_, i) => JSON.stringify(record(i))))
    overwrite(file, 2 * BLOCK + 1000, 'damaged')
    const page = await visit(await viewer(t, file))
    await page.open(`view=records&at=${2 * BLOCK - 200}`)
    await page.page.waitForSelector('.row.corrupt')
    const numbers = await page.page.$$eval('.rows .row[data-seq]:not(.corrupt) .line', lines => lines.map(line => JSON.parse(line.textContent).i))
    t.ok(numbers.length > 5, 'records around it are shown')
    await page.click('.row.corrupt')
    await page.until(hasText, '.panel h2', 'Block 2')
    await page.open('view=numbers')
    // once: a click that is tried again stops what the first one has started
    await page.page.waitForSelector('section[aria-label=Verify] button')
    await page.page.$eval('section[aria-label=Verify] button', button => button.click())
    await page.until(hasText, 'section[aria-label=Verify] [role=status]', '1 block')
    await page.click('.findings button')
    await page.until(hasText, '.panel h2', 'Block 2')
    await page.until(hasText, '.panel > .problem', 'Corrupt at position 1,000')
    await page.until(hasText, '.shelf .hint', 'Block 2: corrupt')
    t.deepEqual(page.problems, [])
  })

  test('deleted records are shown as deleted, and as gaps on the shelf', async (t) => {
    const file = testFolder(t)('log')
    const seqs = await makeLog(file, Array.from({ length: 50 }, (_, i) => JSON.stringify(record(i))))
    await deleteFrom(file, [seqs[3], seqs[4]])
    const page = await visit(await viewer(t, file))
    await page.open()
    await page.until(() => document.querySelectorAll('.row.deleted').length === 2)
    const rows = await page.rows()
    t.deepEqual([rows[3].text.trim(), rows[4].text.trim(), numberOf(rows[5])], ['deleted', 'deleted', 5])
    await page.click('.row.deleted')
    await page.until(hasText, '.panel .facts', 'deleted')
    await page.open('view=shelf&block=0')
    await page.until(hasText, '.panel .facts', '2 deleted')
    t.deepEqual(page.problems, [])
  })

  test('of a block that comes, nothing is chosen that was chosen in the one before', async (t) => {
    const page = await visit(short.address)
    await page.open('view=shelf&block=0')
    await page.page.waitForSelector('#block[aria-busy=false] .books')
    await page.page.evaluate(() => {
      const { fetch } = window
      window.fetch = async (address, ...args) => {
        if (address.startsWith('api/block?')) await new Promise(resolve => { window.answer = resolve })
        return fetch(address, ...args)
      }
    })
    await page.go('view=shelf&block=1')
    await page.page.waitForSelector('#block[aria-busy=true] .books')
    await page.page.focus('.books')
    await page.page.keyboard.press('Home')
    await page.until(hasText, '.detail', 'Record')
    await page.page.evaluate(() => window.answer())
    await page.page.waitForSelector('#block[aria-busy=false] .books')
    await page.until(hasText, '.detail', 'Choose a book')
    t.pass('nothing is chosen')
    t.deepEqual(page.problems, [])
  })

  test('hostile records are shown as they are, and do nothing', async (t) => {
    const file = testFolder(t)('log')
    const deep = 5000
    const records = [
      '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">',
      JSON.stringify({ html: '<svg onload="window.hacked = 3">', link: 'javascript:window.hacked = 4' }),
      '{"__proto__":{"hacked":5},"constructor":{"prototype":{"hacked":6}}}',
      `${'['.repeat(deep)}${']'.repeat(deep)}`,
      'bell \u0007 escape \u001b[31m null \u0000 carriage\rreturn, override \u202e txt.exe',
      `"${'x'.repeat(65000)}"`,
      Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0x80]),
      '{"unfinished": "',
      '{"id":9007199254740993}'
    ]
    await makeLog(file, records)
    const page = await visit(await viewer(t, file))
    await page.open('view=records&encoding=json')
    await page.page.waitForSelector('.rows .row[data-seq] .line')
    const places = await page.page.$$eval('.rows .row[data-seq] .line', lines => lines.map(line => `${line.offsetLeft} ${line.offsetHeight} ${window.getComputedStyle(line).padding}`))
    t.equal(new Set(places).size, 1, 'text is aligned as JSON is')
    await page.until((count) => document.querySelectorAll('.rows .row[data-seq]').length === count, records.length)
    const rows = await page.rows()
    t.equal(rows[0].text, records[0], 'markup is text')
    t.match(rows[4].text, /bell \u2407 escape \u241b\[31m null \u2400 carriage\u21b5return, override \\u202e txt\.exe/, 'control characters can be seen')
    for (let index = 0; index < records.length; index++) {
      await page.click(`${seen}:nth-child(${index + 1})`)
      await page.until(isOpen, rows[index].seq)
      for (const panel of ['tree', 'text', 'hex']) {
        const isThere = await page.page.$eval(`#tab-${panel}`, (tab) => {
          if (!tab.disabled) tab.click()
          return !tab.disabled
        })
        if (isThere) await page.page.waitForSelector(`#record-content[aria-labelledby=tab-${panel}]`)
      }
      await page.until(() => document.querySelector('div.hex') !== null)
    }
    await page.click(`${seen}:nth-child(3)`)
    await page.until(isOpen, rows[2].seq)
    await page.click('#tab-tree')
    await page.until(hasText, '.tree', '__proto__')
    await page.click(`${seen}:nth-child(9)`)
    await page.until(hasText, '.tree', '9007199254740993')
    t.pass('a long number is not rounded')
    await page.open('view=shelf&block=0')
    await page.page.waitForSelector('.books canvas')
    t.ok(await page.page.evaluate(() => window.hacked === undefined && {}.hacked === undefined && document.querySelector('#app script, #app img, #app svg') === null), 'nothing has run')
    t.deepEqual(page.problems, [])
  })

  test('what is filtered can be exported', async (t) => {
    const page = await visit(short.address)
    await page.open('view=records&q=i+%3C+3')
    await page.until(hasText, '.scan', '3 hits')
    await page.click('.export summary')
    const download = async () => {
      await page.page.waitForSelector('.export a')
      return page.page.$eval('.export a', async (link) => (await fetch(link.href)).text())
    }
    t.equal(await download(), [0, 1, 2].map(i => `${JSON.stringify(record(i))}\n`).join(''))
    await page.click('.export input[value=csv]')
    await page.fill('.export input[placeholder]', 'i')
    await page.until(() => document.querySelector('.export a').href.includes('fields=i'))
    t.deepEqual((await download()).trim().split(/\r?\n/), ['i', '0', '1', '2'])
    t.deepEqual(page.problems, [])
  })
})

/** Turns the wheel, up (-1) or down, once per frame, until 1,000 records were seen: how many gaps are between these? */
async function wheel (page, direction) {
  const numbers = await page.page.evaluate(async (direction, wanted) => {
    const rows = document.querySelector('.rows')
    const frame = () => new Promise(resolve => window.requestAnimationFrame(resolve))
    const numbers = new Set()
    // at rows that are still being loaded, the list stops
    while (numbers.size < wanted) {
      rows.dispatchEvent(new window.WheelEvent('wheel', { deltaY: direction * 560, bubbles: true }))
      await frame()
      const { top, bottom } = rows.getBoundingClientRect()
      for (const row of rows.querySelectorAll('.row[data-seq]')) {
        const box = row.getBoundingClientRect()
        if (box.bottom > top + 1 && box.top < bottom - 1) numbers.add(JSON.parse(row.querySelector('.line').textContent).i)
      }
    }
    return [...numbers]
  }, direction, 1000)
  const sorted = numbers.sort((a, b) => a - b)
  return sorted.filter((number, index) => index > 0 && number !== sorted[index - 1] + 1).length
}
