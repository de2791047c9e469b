'use strict'

// Measures the view of a large log: `node packages/view/bench.js`. Makes a log of 5 GB and 10 million records, and the same as JSON lines
// (10 GB in all), in a folder that is deleted at the end. Needs Chromium for the page, and ripgrep for its figure; what is not there is left out.

const { spawn } = require('child_process')
const fs = require('fs')
const os = require('os')
const path = require('path')
const { setTimeout: pause } = require('timers/promises')
const { parseArgs } = require('util')
const { open } = require('flumelog-random-access-file/promises')
const { findBrowser, launch } = require('./test/helpers/chromium')

const COMMAND = path.join(__dirname, '../../bin/flumelog.js')
const BATCH = 10000
const START = Date.parse('2024-01-01')
const LEVELS = ['debug', 'info', 'info', 'info', 'warning', 'error']
/** Appended per second, and for how many seconds. */
const LIVE_RATE = 10000
const LIVE_SECONDS = 15
const FREE = 2

/** A record of 500 bytes. @param {number} i */
function record (i) {
  const start = `{"id":${i},"at":${START + i * 100},"level":"${LEVELS[i % LEVELS.length]}","user":"user ${i % 1000}","text":"`
  return `${start}${(i % 1000003 === 7 ? 'a needle, ' : '')}${'lorem ipsum dolor sit amet '.repeat(20)}`.slice(0, 498) + '"}'
}

async function main () {
  const { values } = parseArgs({ options: { records: { type: 'string', default: '10000000' }, folder: { type: 'string', default: os.tmpdir() } } })
  const records = Number(values.records)
  const { bavail, bsize } = fs.statfsSync(values.folder)
  if (bavail * bsize < FREE * 2 * records * 504) throw new Error(`${values.folder} has too little space for twice ${records} records of 500 bytes`)
  const folder = fs.mkdtempSync(path.join(values.folder, 'flumelog-view-bench-'))
  try {
    await measure(path.join(folder, 'bench.log'), path.join(folder, 'bench.ndjson'), records)
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
}

/**
 * @param {string} file
 * @param {string} lines
 * @param {number} records
 */
async function measure (file, lines, records) {
  print(`${os.cpus()[0].model.trim()}, ${os.cpus().length} cores; Node.js ${process.version}; ${new Date().toISOString().slice(0, 10)}`)
  await fill(file, lines, records)
  const bytes = fs.statSync(file).size
  print(`${records.toLocaleString('en-US')} records, ${(bytes / 1e9).toFixed(2)} GB, in the page cache as far as it fits`)
  const server = spawn(process.execPath, [COMMAND, 'view', file, '--no-open'], { stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    const address = new URL(await new Promise(resolve => server.stdout.once('data', data => resolve(String(data).trim()))))
    const token = address.searchParams.get('token') ?? ''
    const get = async (/** @type {string} */ name) => (await fetch(new URL(`api/${name}`, address), { headers: { 'flumelog-token': token } })).text()
    await timed('log and overview', () => Promise.all([get('log'), get('overview')]))
    await timed('first rows', () => get('records?count=200&from=0'))
    await timed('rows at the end', () => get('records?count=200&reverse=1'))
    await timed('jump to a time', () => get(`find?where=${encodeURIComponent(`at >= ${new Date(START + records * 30).toISOString()}`)}`))
    const filters = { 'a needle': ['-i', '-c', 'a needle'], [`id = ${records / 2}`]: ['-c', `"id":${records / 2},`], 'user ~ /^user 99[89]$/ and level = error': ['-c', '"level":"error","user":"user 99[89]"'] }
    const isThere = await run('rg', ['--version']).then(() => true, () => false)
    for (const [q, search] of Object.entries(filters)) {
      await rate(`filter, page's server: ${q}`, bytes, async () => {
        let next = '0'
        for (; next !== 'null';) next = /"next":(\d+|null)/.exec((await get(`filter?q=${encodeURIComponent(q)}&from=${next}`)).slice(-300))?.[1] ?? 'null'
      })
      await rate(`filter, dump --where: ${q}`, bytes, () => run(process.execPath, [COMMAND, 'dump', file, '--where', q]))
      if (isThere) await rate(`filter, rg ${search.join(' ')}, of JSON lines`, fs.statSync(lines).size, () => run('rg', [...search, lines]))
    }
    print(`memory of the server: ${memoryOf(server.pid)}`)
    const executable = findBrowser()
    if (executable !== null) await measurePage(executable, address.href, file, records, server.pid)
  } finally {
    server.kill()
  }
}

/** The page in a browser. @param {string} executable @param {string} address @param {string} file @param {number} records @param {number | undefined} pid of the server */
async function measurePage (executable, address, file, records, pid) {
  const browser = await launch(executable)
  try {
    const page = await browser.newPage()
    await page.setViewport({ width: 1280, height: 800 })
    const has = (/** @type {number} */ id) => page.waitForFunction((/** @type {string} */ text) => document.querySelector('.rows')?.textContent?.includes(text), { polling: 20, timeout: 60000 }, `"id":${id},`)
    await timed('page: from the address to its rows, at the end', async () => {
      await page.goto(address)
      await has(records - 1)
    })
    await timed('page: the first rows, by the key g', async () => {
      await page.keyboard.press('g')
      await has(0)
    })
    await timed('page: the last rows, by the key G', async () => {
      await page.keyboard.press('G')
      await has(records - 1)
    })
    const log = await open(file)
    let appended = 0
    const started = Date.now()
    while (Date.now() - started < LIVE_SECONDS * 1000) {
      const due = Math.floor((Date.now() - started) / 1000 * LIVE_RATE)
      await log.append(Array.from({ length: due - appended }, (_, i) => record(records + appended + i)))
      appended = due
      await pause(20)
    }
    await timed(`page: the last of ${appended.toLocaleString('en-US')} records, appended at ${LIVE_RATE.toLocaleString('en-US')} per second, after it was appended`, () => has(records + appended - 1))
    await log.close()
    const { JSHeapUsedSize = 0 } = await page.metrics()
    print(`memory after that: server ${memoryOf(pid)}, page ${(JSHeapUsedSize / 1e6).toFixed(0)} MB of JavaScript, ${await page.$$eval('*', elements => elements.length)} elements`)
  } finally {
    await browser.close()
  }
}

/** @param {string} file @param {string} lines @param {number} records */
async function fill (file, lines, records) {
  const log = await open(file)
  const fd = fs.openSync(lines, 'w')
  for (let i = 0; i < records; i += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, records - i) }, (_, k) => record(i + k))
    await log.append(batch)
    fs.writeSync(fd, `${batch.join('\n')}\n`)
  }
  fs.closeSync(fd)
  await log.close()
}

/** @param {string} name @param {() => Promise<any>} measured */
async function timed (name, measured) {
  const started = performance.now()
  await measured()
  print(`${name}: ${Math.round(performance.now() - started)} ms`)
}

/** @param {string} name @param {number} bytes @param {() => Promise<void>} measured */
async function rate (name, bytes, measured) {
  const started = performance.now()
  await measured()
  const seconds = (performance.now() - started) / 1000
  print(`${name}: ${seconds.toFixed(1)} s, ${Math.round(bytes / 1e6 / seconds)} MB/s`)
}

/**
 * @param {string} program
 * @param {string[]} args
 * @returns {Promise<void>} rejects if it is not there
 */
function run (program, args) {
  return new Promise((resolve, reject) => spawn(program, args, { stdio: 'ignore' }).on('error', reject).on('close', () => resolve()))
}

/** @param {number | undefined} pid @returns {string} its resident memory, and the most that it was */
function memoryOf (pid) {
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8')
  const [resident, peak] = ['VmRSS', 'VmHWM'].map(name => Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1e3))
  return `${resident} MB, at most ${peak} MB`
}

/** @param {string} line */
function print (line) {
  process.stdout.write(`${line}\n`)
}

main()
