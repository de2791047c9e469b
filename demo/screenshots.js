'use strict'

// Takes the pictures of `flumelog view` in docs/images: of the demo's data, some of it deleted, while records are
// appended. Needs Chromium: `node demo/screenshots.js`.

const fs = require('fs')
const os = require('os')
const path = require('path')
const { spawn } = require('child_process')
const { promisify } = require('util')
const codec = require('flumecodec').json
const FlumeLog = require('..')
const { readRecords } = require('./records')
const { findBrowser, launch } = require('../test/helpers/browser')

const PROGRAM = path.join(__dirname, '..', 'bin', 'flumelog.js')
const TARGET = path.join(__dirname, '..', 'docs', 'images')
const SIZE = { width: 1280, height: 760 }
const SECONDS = 20
const pause = promisify(setTimeout)

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'flumelog-pictures-'))

async function main () {
  const executable = findBrowser()
  if (executable === null) throw new Error('there is no chromium: apt-get install chromium')
  fs.mkdirSync(TARGET, { recursive: true })
  const log = FlumeLog(path.join(folder, 'demo.log'), { codec, retain: undefined })
  const records = readRecords()
  const [late] = records.splice(-500, 500, [])
  records.pop()
  await promisify(log.append)(records)
  const { blockSize } = log
  await promisify(log.del)({ gte: 40 * blockSize, lt: 52 * blockSize })
  for (let block = 60; block < 120; block += 7) await promisify(log.del)({ gte: block * blockSize, lt: (block + 0.1 + block % 5 / 8) * blockSize })
  await promisify(log.sync)()
  const cursor = log.cursor('mailer')
  await promisify(cursor.commit)(await seqOf(log, 150 * blockSize))

  const viewer = spawn(process.execPath, [PROGRAM, 'view', log.filename, '--no-open'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const address = await new Promise(resolve => viewer.stdout.once('data', data => resolve(String(data).trim())))
  const browser = await launch(executable)
  try {
    const page = await browser.newPage()
    await page.setViewport(SIZE)
    await page.goto(address)
    const show = async (fragment, scheme, selector) => {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
      await page.goto('about:blank')
      await page.goto(`${new URL('/', address).href}#${fragment}`)
      await page.waitForSelector(selector)
    }
    const take = async (name) => {
      await pause(500) // fonts and canvases
      await page.screenshot({ path: path.join(TARGET, `${name}.webp`), type: 'webp', quality: 85 })
    }
    const quake = await promisify(log.search)(record => record.timestamp - Date.parse('2018-02-06T15:50Z'))
    await show(`view=records&at=${quake}&seq=${quake}&panel=tree`, 'light', '.tree')
    await take('records')
    await show('view=records&q=magnitude+%3E+5&panel=hex&seq=' + quake, 'dark', '.scan [role=status]')
    await take('filter')
    await show('view=shelf&block=67', 'light', '.books canvas')
    await page.focus('.books')
    for (let i = 0; i < 100; i++) await page.keyboard.press('ArrowRight')
    await take('shelf')
    await show('view=numbers', 'dark', '.chart canvas')
    for (let second = 0; second < SECONDS * 10; second++) {
      for (let i = 0; i < 3 + 2 * Math.sin(second / 20); i++) await promisify(log.append)({ ...late, note: second })
      await pause(100)
    }
    await take('numbers')
  } finally {
    await browser.close()
    viewer.kill()
    await promisify(log.close)()
    fs.rmSync(folder, { recursive: true })
  }
}

/** @returns {Promise<number>} the first seq from an offset on */
function seqOf (log, offset) {
  return new Promise((resolve, reject) => log.stream({ gte: offset, limit: 1, values: false }).pipe({
    paused: false,
    write: resolve,
    end: (err) => err && reject(err)
  }))
}

main().catch(err => {
  console.error(err)
  process.exitCode = 1
})
