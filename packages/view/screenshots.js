'use strict'

// Takes the pictures of `flumelog view` in images/: of the demo's data, some of it deleted, while records are
// appended. Needs Chromium: `node demo/screenshots.js`.

const fs = require('fs')
const os = require('os')
const path = require('path')
const { spawn } = require('child_process')
const { setTimeout: pause } = require('timers/promises')
const codec = require('flumecodec').json
const { open } = require('flumelog-random-access-file/promises')
const { readRecords } = require('../../demo/records')
const { findBrowser, launch } = require('./test/helpers/chromium')

const PROGRAM = path.join(__dirname, 'bin', 'flumelog-view.js')
const TARGET = path.join(__dirname, 'images')
const SIZE = { width: 1280, height: 760 }
/** Seconds of appends that the chart shows. */
const SECONDS = 60
const QUAKE = Date.parse('2018-02-06T15:50Z')

async function main () {
  const executable = findBrowser()
  if (executable === null) throw new Error('there is no chromium: apt-get install chromium')
  fs.mkdirSync(TARGET, { recursive: true })
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'flumelog-pictures-'))
  const file = path.join(folder, 'demo.log')
  const log = await open(file, { codec })
  const viewer = spawn(process.execPath, [PROGRAM, file, '--no-open'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const browser = await launch(executable)
  try {
    await fill(log)
    const address = await new Promise(resolve => viewer.stdout.once('data', data => resolve(String(data).trim())))
    const page = await browser.newPage()
    await page.setViewport(SIZE)
    await page.goto(address)
    await takeAll(page, new URL('.', address).href, log)
  } finally {
    await browser.close()
    viewer.kill()
    await log.close()
    fs.rmSync(folder, { recursive: true })
  }
}

/** Appends the demo's records, and deletes some: whole blocks, and parts of others. */
async function fill (log) {
  await log.append(readRecords())
  const { blockSize } = log
  await log.del({ gte: 40 * blockSize, lt: 52 * blockSize })
  for (let block = 60; block < 130; block += 7) await log.del({ gte: Math.floor((block + 0.9 - block % 5 / 6) * blockSize), lt: Math.floor((block + 0.96) * blockSize) })
  await log.sync()
  const cursor = await log.cursor('mailer')
  for await (const { seq } of log.stream({ gte: 150 * blockSize, limit: 1 })) await cursor.commit(seq)
}

async function takeAll (page, base, log) {
  const show = async (fragment, scheme, selector) => {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
    await page.goto('about:blank')
    await page.goto(`${base}#${fragment}`)
    await page.waitForSelector(selector)
  }
  const take = async (name) => {
    await page.mouse.move(640, 2)
    await pause(1000) // canvases
    await page.screenshot({ path: path.join(TARGET, `${name}.webp`), type: 'webp', quality: 85 })
  }
  const { seq } = await log.search(record => record.timestamp - QUAKE)
  await show(`view=records&at=${seq}&seq=${seq}&panel=tree`, 'light', '.tree')
  await take('records')
  await show(`view=records&q=magnitude+%3E+5&seq=${seq}&panel=hex`, 'dark', '.scan [role=status]')
  await page.click('.rows .row[data-seq]:nth-child(3)')
  await take('filter')
  await show('view=shelf&block=67', 'light', '.books canvas')
  await page.focus('.books')
  await page.keyboard.press('End')
  await page.$eval('.books', books => books.blur())
  await take('shelf')
  await show('view=numbers', 'dark', '.chart canvas')
  const last = { type: 'flight', timestamp: QUAKE, delay: 0, distance: 0 }
  for (let tenth = 0; tenth < SECONDS * 10; tenth++) {
    await log.append(Array.from({ length: Math.round(40 + 25 * Math.sin(tenth / 60) + 10 * Math.random()) }, () => last))
    await pause(100)
  }
  await take('numbers')
}

main().catch(err => {
  console.error(err)
  process.exitCode = 1
})
