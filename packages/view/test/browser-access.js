'use strict'

// Whoever uses the page, on whatever screen: with the keyboard alone, in the dark, on 360 pixels, and what axe says to it.

const test = require('tape')
const { source: AXE } = require('axe-core')
const { viewer, inBrowser, record, makeNumbered, seen, hasSelected, hasText } = require('./helpers/browser')
const { testFolder, processFolder } = require('../../../test/helpers/folder')
const { makeLog, deleteFrom, overwrite } = require('../../../test/helpers/logs')
const { thorough } = require('../../../test/helpers/thorough')

const BLOCK = 65536

const short = { file: `${processFolder()}/short.log`, records: 20000, address: '' }

inBrowser(({ visit }) => {
  test('a log can be viewed', async (t) => {
    await makeNumbered(short.file, short.records)
    short.address = await viewer({ teardown: test.onFinish }, short.file)
    t.match(short.address, /^http:/)
  })

  test('a tab gets the token from another one of the same view, and its downloads have it', async (t) => {
    const page = await visit(short.address)
    await page.open()
    await page.page.waitForSelector(seen)
    const other = await page.page.browser().newPage()
    await other.goto(page.base)
    await other.waitForSelector(seen)
    t.pass('the other tab shows the log')
    t.equal(await other.$eval('.sheet a', async (link) => (await fetch(link.href, { method: 'GET' })).status), 200, 'a link downloads it')
    await page.page.goto('about:blank')
    await other.reload()
    await other.waitForSelector(seen)
    await other.close()
    const alone = await page.page.browser().newPage()
    await alone.goto(page.base)
    await alone.waitForSelector('[role=alert]')
    t.match(await alone.$eval('[role=alert]', element => element.textContent), /use the address that flumelog view has printed/, 'without another tab, it says what to do')
    await alone.close()
    t.deepEqual(page.problems, [])
  })

  test('the page is dark or light as the system is, or as chosen', async (t) => {
    const page = await visit(short.address)
    const ground = async () => {
      await page.page.waitForSelector(seen)
      const [red] = await page.page.evaluate(() => window.getComputedStyle(document.documentElement).backgroundColor.match(/\d+/g))
      return Number(red) < 128 ? 'dark' : 'light'
    }
    await page.scheme('light')
    await page.open()
    t.equal(await ground(), 'light')
    await page.scheme('dark')
    t.equal(await ground(), 'dark')
    await page.page.select('.theme select', 'light')
    t.equal(await ground(), 'light')
    await page.page.reload()
    t.equal(await ground(), 'light', 'the choice stays')
    await page.page.select('.theme select', 'auto')
    t.deepEqual(page.problems, [])
  })

  test('on a screen of 360 pixels, nothing is cut off', async (t) => {
    const page = await visit(short.address)
    await page.page.setViewport({ width: 360, height: 740, hasTouch: true, isMobile: true })
    const fits = () => page.page.evaluate(() => document.documentElement.scrollWidth <= 360 && [...document.querySelectorAll('button, a, input, select, h1')]
      .every(element => element.checkVisibility() === false || element.closest('.hex, .tree, .text, .sr, .skip') !== null || element.getBoundingClientRect().right <= 360))
    await page.open()
    await page.page.waitForSelector(seen)
    t.ok(await fits(), 'records')
    const touch = await page.page.touchscreen.touchStart(180, 600)
    for (let y = 580; y >= 400; y -= 20) await touch.move(180, y)
    await touch.end()
    await page.until(() => !document.querySelector('.rows').textContent.includes('"i":0,'))
    t.pass('the list follows a finger')
    // the first tap may only stop the list
    for (let taps = 0; taps < 100 && await page.page.$('.tree') === null; taps++) await page.page.touchscreen.tap(180, 500)
    await page.page.waitForSelector('.tree')
    t.ok(await fits(), 'a record')
    for (const [fragment, selector] of [['view=shelf', '.map canvas'], ['view=shelf&block=3', '.books canvas'], ['view=numbers', '.chart canvas']]) {
      await page.go(fragment)
      await page.page.waitForSelector(selector)
      t.ok(await fits(), fragment)
    }
    t.deepEqual(page.problems, [])
  })

  test('everything can be reached with the keyboard', async (t) => {
    const page = await visit(short.address)
    const { keyboard } = page.page
    const press = async (...keys) => { for (const key of keys) await keyboard.press(key) }
    const focused = () => page.page.evaluate(() => document.activeElement.id || document.activeElement.className)
    await page.open()
    await page.page.waitForSelector(seen)
    await press('j', 'j', 'k', 'j')
    await page.until(hasSelected, '"i":1,')
    await press('ArrowDown')
    await page.until(hasSelected, '"i":2,')
    await press('G')
    await page.until(hasSelected, `"i":${short.records - 1},`)
    await press('k')
    await page.until(hasSelected, `"i":${short.records - 2},`)
    await press('g')
    await page.until(hasSelected, '"i":0,')
    await press('Enter')
    await page.page.waitForSelector('.tree')
    await page.until(() => document.activeElement.id === 'record')
    await press('j')
    await page.until(hasText, '.tree', 'i: 1')
    for (let i = 0; i < 20 && await focused() !== 'tab-tree'; i++) await press('Tab')
    await press('ArrowRight')
    await page.page.waitForSelector('pre.text')
    await press('Escape')
    await page.until(() => document.querySelector('.panel') === null && document.activeElement.id === 'records')
    await press('/')
    t.equal(await focused(), 'filter')
    await keyboard.type('i = 5')
    await press('Enter')
    await page.until(hasText, '.scan [role=status]', '1 hit')
    await press('Escape', 'Escape')
    await page.until(() => document.querySelector('.scan') === null)
    for (const text of ['start', 'end']) {
      await press(':')
      t.equal(await focused(), 'jump')
      await keyboard.type(text)
      t.equal(await page.page.$eval('#jump', element => element.value), text, 'what was in the field is replaced')
      await press('Escape')
    }
    await press('Escape', '2')
    await page.page.waitForSelector('.map canvas')
    await page.until(() => document.activeElement.className === 'map')
    await press('ArrowRight', 'ArrowRight')
    await page.until(hasText, '.panel h2', 'Block 1')
    await page.page.waitForSelector('#block[aria-busy=false] .books')
    for (let i = 0; i < 20 && await focused() !== 'books'; i++) await press('Tab')
    await press('ArrowRight', 'ArrowRight')
    await page.until(hasText, '.detail', 'Record')
    await press('Enter')
    await page.page.waitForSelector('pre.text')
    await page.until(() => document.querySelector('.row[aria-selected=true]') !== null)
    await press('3')
    await page.page.waitForSelector('.chart canvas')
    await press('?')
    await page.page.waitForSelector('dialog[open]')
    await press('Escape')
    await page.until(() => document.querySelector('dialog') === null)
    t.pass('done')
    t.deepEqual(page.problems, [])
  })

  test('axe finds nothing to object to, in light colours and in dark ones', async (t) => {
    const file = testFolder(t)('log')
    const seqs = await makeLog(file, Array.from({ length: 4000 }, (_, i) => JSON.stringify({ ...record(i), text: 'a', flag: true, none: null })))
    await deleteFrom(file, [seqs[1]])
    overwrite(file, BLOCK + 1000, 'damaged')
    const page = await visit(await viewer(t, file))
    // what is seen of a list is the same row, again and again
    await page.page.setViewport({ width: 1280, height: 500 })
    await page.open()
    await page.page.waitForSelector(seen)
    await page.page.evaluate(AXE)
    for (const [fragment, selector, menu = null] of [
      ['view=records&at=0', '.row.deleted'], [`view=records&at=${BLOCK}`, '.row.corrupt'], [`view=records&seq=${seqs[2]}&panel=tree`, '.tree'], [`view=records&seq=${seqs[2]}&panel=text`, 'pre.text'],
      [`view=records&seq=${seqs[2]}&panel=hex`, 'div.hex'], ['view=records&q=flag+%3D+true', '.scan [role=status]'], ['view=shelf', '.map canvas'],
      ['view=shelf&block=0', '.books canvas'], ['view=numbers', '.tiles'],
      ['view=records&columns=i,text', '.row .cell', '.bar .menu:not(.export)'], ['view=records&at=1', seen, '.export'], [`view=records&seq=${seqs[3]}&panel=tree`, '.tree .node', '.panel .menu']
    ]) {
      await page.go(fragment)
      await page.page.waitForSelector(selector)
      if (menu !== null) {
        await page.page.$eval(`${menu} summary`, summary => summary.click())
        await page.page.waitForSelector(`${menu} .sheet :is(fieldset label, .choice)`, { visible: true })
      }
      if (fragment === 'view=numbers') {
        // once: a click that is tried again stops what the first one has started
        await page.page.waitForSelector('section[aria-label=Verify] button')
        await page.page.$eval('section[aria-label=Verify] button', button => button.click())
        await page.page.waitForSelector('.findings')
      }
      for (const scheme of /** @type {const} */ (['light', 'dark'])) {
        await page.scheme(scheme)
        // only colours differ
        const options = { resultTypes: ['violations'], ...(scheme === 'dark' && !thorough && { runOnly: ['color-contrast'] }) }
        const violations = await page.page.evaluate(async (options) => (await window.axe.run(options)).violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' ')}`), options)
        t.deepEqual(violations, [], `${fragment}, ${menu === null ? '' : `${menu} open, `}${scheme}`)
      }
      if (menu !== null) await page.page.$eval(`${menu} summary`, summary => summary.click())
    }
    t.deepEqual(page.problems, [])
  })
})
