'use strict'

// Columns, filters by a click, what is marked, and what is copied and saved.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('flumelog-random-access-file')
const { viewer, inBrowser, seen, shows, hasText, isOpen } = require('./helpers/browser')
const { promises } = require('../../../test/helpers/promises')
const { testFolder, processFolder } = require('../../../test/helpers/folder')
const { deleteFrom } = require('../../../test/helpers/logs')

const RECORDS = 20000
const START = Date.parse('2024-03-01T00:00:00Z')
const LEVELS = ['info', 'info', 'info', 'warning', 'error']
/** A day in which half of all records are of one hour. */
const timeOf = (i) => START + (i < RECORDS / 4 ? i * 7200 : i < RECORDS * 3 / 4 ? 36e6 + (i - RECORDS / 4) * 360 : 396e5 + (i - RECORDS * 3 / 4) * 9360)
const entry = (i) => ({ service: 'checkout', region: 'eu-central-1', level: LEVELS[i % 5], at: timeOf(i), user: { name: `user ${i % 7}`, id: i }, text: `${'lorem ipsum '.repeat(40)}needle ${i}` })
const file = `${processFolder()}/columns.log`

inBrowser(({ visit }) => {
  let address
  const cells = (page) => page.page.$$eval('.rows .row[data-seq]', rows => rows.map(row => [...row.querySelectorAll('.cell')].map(cell => cell.textContent)))

  test('a log can be viewed', async (t) => {
    const log = promises(FlumeLog(file))
    await log.append(Array.from({ length: RECORDS }, (_, i) => JSON.stringify(entry(i))))
    await log.close()
    address = await viewer({ teardown: test.onFinish }, file)
    t.match(address, /^http:/)
  })

  test('the page opens at the end, and tells how many records there are, and of which time', async (t) => {
    const page = await visit(address)
    await page.open('')
    await page.until(hasText, '.status', 'records · offsets 0 to')
    await page.until((id) => document.querySelector('.rows .row[data-seq]:last-child .line')?.textContent.includes(id), `"id":${RECORDS - 1}`)
    await page.until(hasText, '.status', '2024-03-01 00:00:00')
    t.match(await page.text('.status'), /^about 20,000 records · .* to 2024-03-01 23:59:50/)
    t.deepEqual(page.problems, [])
  })

  test('paths that are chosen become columns, and are in the address; the start that all records share disappears', async (t) => {
    const page = await visit(address)
    await page.open()
    await page.page.waitForSelector(seen)
    await page.until(() => document.querySelector('.rows .row .line')?.textContent.startsWith('…"level":"info"'))
    t.match(await page.text('.row.head .line'), /"service":"checkout","region":"eu-central-1",…$/)
    await page.click('.menu summary')
    await page.page.waitForSelector('.sheet fieldset label')
    for (const path of ['level', 'user.name']) await page.page.evaluate((path) => [...document.querySelectorAll('.sheet fieldset label')].find(label => label.textContent.trim() === path).click(), path)
    await page.until(() => document.querySelectorAll('.rows .row[data-seq] .cell').length > 2)
    await page.until(() => document.querySelectorAll('.row.head .cell').length === 2)
    await page.until(() => document.querySelector('.rows .row[data-seq] .cell + .cell')?.textContent === 'user 0')
    t.deepEqual((await cells(page)).slice(0, 5), Array.from({ length: 5 }, (_, i) => [LEVELS[i], `user ${i % 7}`]))
    t.ok(page.page.url().includes('columns=level%2Cuser.name'), page.page.url())
    await page.page.reload()
    await page.until(() => document.querySelectorAll('.row.head .cell').length === 2)
    await page.open('at=0&columns=user.id&q=level+%3D+error')
    await page.until(() => document.querySelector('.rows .row[data-seq] .cell')?.textContent === '4')
    t.deepEqual((await cells(page)).slice(0, 3), [['4'], ['9'], ['14']], 'also of what is filtered')
    t.deepEqual(page.problems, [])
  })

  test('a click on a value offers to filter by it, and to exclude it', async (t) => {
    const page = await visit(address)
    await page.open('at=0&columns=level,user.name')
    await page.page.waitForSelector('.rows .row[data-seq] .cell')
    await page.page.evaluate(() => document.querySelectorAll('.rows .row[data-seq]')[3].querySelector('.cell').click())
    await page.until(hasText, '.actions', 'level')
    t.match(await page.text('.node.focused'), /"level": "warning"|level: "warning"/)
    const act = (name) => page.page.evaluate((name) => [...document.querySelectorAll('.actions button')].find(button => button.textContent === name).click(), name)
    await act('Only this value')
    await page.until(() => document.querySelector('#filter').value === 'level = "warning"')
    await page.until(hasText, '.scan', 'hits')
    await page.until(() => [...document.querySelectorAll('.rows .row[data-seq] .cell:nth-of-type(4)')].every(cell => cell.textContent === 'warning'))
    // with the keyboard alone: Enter opens the record, then its tree
    await page.page.focus('#records')
    for (const key of ['ArrowDown', 'Enter']) await page.page.keyboard.press(key)
    await page.until(() => document.activeElement?.matches('.panel[aria-busy=false]'))
    await page.page.focus('.tree')
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown']) await page.page.keyboard.press(key)
    await page.until(hasText, '.actions', 'user.name')
    for (const key of ['Tab', 'Tab', 'Enter']) await page.page.keyboard.press(key)
    await page.until(() => /^level = "warning" and not user.name = "user \d"$/.test(document.querySelector('#filter').value))
    t.deepEqual(page.problems, [])
  })

  test('what a filter finds is marked, also behind the 300th character', async (t) => {
    const page = await visit(address)
    await page.open('q=NEEDLE+1999')
    await page.until(() => document.querySelector('.rows .row mark')?.textContent === 'needle 1999')
    await page.open('q=level+%3D+error+and+~+%2Fuser+%5B56%5D%2F')
    await page.until(() => /^user [56]$/.test(document.querySelector('.rows .row mark')?.textContent))
    t.equal(await page.page.$$eval('.rows .row mark', marks => marks.filter(mark => !/^user [56]$/.test(mark.textContent)).length), 0)
    t.deepEqual(page.problems, [])
  })

  test('deleted records can be hidden', async (t) => {
    const file = testFolder(t)('log')
    const log = promises(FlumeLog(file))
    const seqs = []
    for (let i = 0; i < 30; i++) seqs.push(await log.append(`record ${i}`))
    await log.close()
    await deleteFrom(file, seqs.slice(0, 10))
    const page = await visit(await viewer(t, file))
    await page.open()
    await page.until(() => document.querySelectorAll('.row.deleted').length === 10)
    await page.click('.menu summary')
    await page.page.evaluate(() => [...document.querySelectorAll('.sheet label')].find(label => label.textContent.includes('Hide deleted')).click())
    await page.until(() => document.querySelectorAll('.row.deleted').length === 0 && document.querySelectorAll('.rows .row[data-seq]').length >= 20)
    t.ok(page.page.url().includes('hidden=1'))
    t.deepEqual(page.problems, [])
  })

  test('a record is copied and saved as it is shown, and as it is stored', async (t) => {
    const folder = testFolder(t)('downloads')
    fs.mkdirSync(folder)
    const page = await visit(address)
    // the clipboard of a browser that nobody looks at takes nothing at times
    const watchClipboard = () => page.page.evaluate(() => { navigator.clipboard.writeText = async (text) => { window.copied = text } })
    const session = await page.page.createCDPSession()
    await session.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: folder, eventsEnabled: true })
    await page.open('at=0&seq=0&panel=tree')
    await page.until(isOpen, 0)
    await watchClipboard()
    await page.click('.panel .menu summary')
    const press = (name) => page.page.evaluate((name) => [...document.querySelectorAll('.panel .sheet :is(button, a)')].find(element => element.textContent === name).click(), name)
    const copied = async (name) => {
      await press(name)
      await page.until((name) => [...document.querySelectorAll('.panel .sheet .choice')].find(choice => choice.textContent.includes(name)).querySelector('.note').textContent !== '', name)
      return page.page.evaluate(() => window.copied)
    }
    t.equal(await copied('Copy as stored'), JSON.stringify(entry(0)))
    t.equal(await copied('Copy as shown'), JSON.stringify(entry(0), null, 2))
    const saved = async (name, file) => {
      const done = new Promise(resolve => session.on('Browser.downloadProgress', ({ state }) => { if (state === 'completed') resolve() }))
      await press(name)
      await done
      return fs.readFileSync(`${folder}/${file}`, 'utf8')
    }
    t.equal(await saved('Save as shown', 'columns.log-0.json'), JSON.stringify(entry(0), null, 2))
    t.equal(await saved('Save as stored', 'columns.log-0.txt'), JSON.stringify(entry(0)))
    t.deepEqual(page.problems, [])
    await page.open('q=user.id+%3C+3')
    await page.until(hasText, '.scan', '3 hits')
    await watchClipboard()
    await page.click('.export summary')
    await page.page.evaluate(() => [...document.querySelectorAll('.export button')].find(button => button.textContent === 'Copy').click())
    await page.until(hasText, '.export .note', 'Copied.')
    t.equal(await page.page.evaluate(() => window.copied), [0, 1, 2].map(i => `${JSON.stringify(entry(i))}\n`).join(''), 'what is filtered')
    t.deepEqual(page.problems, [])
  })

  test('a drag over the histogram of times goes to that time', async (t) => {
    const page = await visit(address)
    await page.open('')
    await page.page.waitForSelector('.timeline canvas')
    const { x, y, width, height } = await (await page.page.$('.timeline')).boundingBox()
    const { from, to } = { from: START, to: timeOf(RECORDS - 1) }
    const shown = () => page.page.evaluate(() => document.querySelector('.rows .row[data-seq] .time').textContent)
    for (const hour of [1, 10, 20]) {
      const at = x + width * (START + hour * 36e5 - from) / (to - from)
      await page.page.mouse.move(at, y + height / 2)
      await page.page.mouse.down()
      await page.page.mouse.up()
      await page.until((time) => Math.abs(Date.parse(`${document.querySelector('.rows .row[data-seq] .time').textContent.slice(0, 19)}Z`) - time) < 12e5, START + hour * 36e5)
      t.pass(`${hour} h: ${await shown()}`)
    }
    await page.page.focus('.timeline')
    await page.page.keyboard.press('Home')
    await page.until(shows, '"id":0}')
    const bars = await page.page.$eval('.timeline canvas', (canvas) => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      return Array.from({ length: canvas.width }, (_, x) => Array.from({ length: canvas.height }, (_, y) => data[(y * canvas.width + x) * 4 + 3] > 0).filter(Boolean).length)
    })
    const highest = bars.indexOf(Math.max(...bars)) / bars.length
    t.ok(highest > 10 / 24 - 0.02 && highest < 11.2 / 24, `the burst is seen: ${highest}`)
    t.deepEqual(page.problems, [])
  })

  test('live can be paused: what is appended is shown when the reader goes on', async (t) => {
    const file = testFolder(t)('log')
    const log = promises(FlumeLog(file))
    await log.append(Array.from({ length: 5 }, (_, i) => `record ${i}.`))
    const page = await visit(await viewer(t, file))
    await page.open('')
    await page.until(shows, 'record 4.')
    await page.until(hasText, '.states', 'live')
    await page.click('.states button')
    await page.until(hasText, '.states', 'paused')
    await log.append(['record 5.', 'record 6.'])
    const asked = await page.page.waitForResponse(response => response.url().includes('/api/live') && response.ok())
    for (let news = await asked.json(); news.count === 0;) news = await (await page.page.waitForResponse(response => response.url().includes('/api/live'))).json()
    t.equal((await page.rows()).length, 5)
    await page.click('.states button')
    await page.until(shows, 'record 6.')
    t.equal((await page.rows()).length, 7)
    t.deepEqual(page.problems, [])
    await log.close()
  })
})
