'use strict'

/* global flumelog */

// A log in a dedicated worker of a real browser, and its files, in both directions.

const fs = require('fs')
const { spawnSync } = require('child_process')
const path = require('path')
const test = require('tape')
const { open: openInNode } = require('flumelog-random-access-file/promises')
const { inBrowser, inWorker, isFirefox } = require('./helpers/browser')
const { testFolder } = require('../../../test/helpers/folder')

const FLUMELOG = path.join(__dirname, '..', '..', '..', 'bin', 'flumelog.js')
/** Options of tests of which WebDriver BiDi has no commands for what they do. */
const inChromium = { skip: isFirefox && 'it needs the protocol of Chromium' }
/** In a worker: fills a log as `fill` does here. */
const RECORDS = 5000
const valueOf = (/** @type {number} */ i) => ({ i, text: 'ü€😀'.repeat(i % 20), at: 1700000000000 + i })

/** @param {string} folder @param {Array<{ name: string, base64: string }>} files */
function write (folder, files) {
  for (const { name, base64 } of files) fs.writeFileSync(path.join(folder, name), Buffer.from(base64, 'base64'))
}

/** In the page: what `exportFiles` gives, as text. */
async function exported (name) {
  const { exportFiles } = flumelog
  const files = []
  for (const file of await exportFiles(name)) {
    const bytes = new Uint8Array(await file.arrayBuffer())
    let text = ''
    for (let i = 0; i < bytes.length; i += 10000) text += String.fromCharCode(...bytes.subarray(i, i + 10000))
    files.push({ name: file.name, base64: btoa(text) })
  }
  return files
}

/** In the page. */
async function imported (name, files) {
  const { importFiles } = flumelog
  await importFiles(name, files.map(({ name, base64 }) => ({ name, data: Uint8Array.from(atob(base64), character => character.charCodeAt(0)) })))
}

/** @param {any} log @param {number} records */
async function fill (log, records) {
  const values = Array.from({ length: records }, (_, i) => valueOf(i))
  const seqs = []
  for (let i = 0; i < records; i += 100) seqs.push(await log.append(values.slice(i, i + 100)))
  await log.del(seqs[3])
  await log.del({ gte: seqs[10], lt: seqs[20] })
  const cursor = log.cursor('done')
  await cursor.commit(seqs[30], { sync: true })
}

async function all (log) {
  const records = []
  for await (const record of log.stream()) records.push(record)
  return records
}

inBrowser(({ open, insecureAddress, browser }) => {
  /** @type {import('puppeteer-core').Page} */
  let page
  test('a page is there', async (t) => {
    page = await open()
    t.ok(page)
  })

  test('a log that is open, shared or not, is backed up to another one, which gets what is new the next time; Node.js opens it', async (t) => {
    const folder = testFolder(t)
    for (const options of [{}, { shared: true }].slice(0, isFirefox ? 1 : 2)) {
      const name = options.shared ? 'shared-source' : 'source'
      const found = await inWorker(page, `async ({ open, listLogs }, { name, options }) => {
        const valueOf = ${valueOf}
        const all = ${all}
        const why = promise => promise.then(() => 'done', err => err.code)
        const log = await open(name, { codec: 'json', blockSize: 4096, ...options })
        await (${fill})(log, ${RECORDS})
        const copy = name + '-copy'
        const first = await log.backup(copy)
        await log.append({ i: 'more' })
        const second = await log.backup(copy)
        await log.compact()
        const third = await log.backup(copy)
        const other = await open(name + '-other')
        await other.append('x')
        const refused = [await why(log.backup(name)), await why(log.backup(name + '-other')), await why(log.backup('a/b'))]
        await other.close()
        refused.push(await why(log.backup(name + '-other')), await why(log.backup(name + '-aborted', { signal: AbortSignal.abort(Object.assign(new Error(), { code: 'ABORTED' })) })))
        const records = await all(log)
        await log.close()
        const opened = await open(copy, { codec: 'json', blockSize: 4096 })
        const backup = await all(opened)
        await opened.close()
        return { full: [first, second, third].map(({ incremental }) => !incremental), refused, records, backup, logs: (await listLogs()).filter(each => each.startsWith(name)) }
      }`, { name, options })
      t.deepEqual(found.full, [true, false, true])
      t.deepEqual(found.backup, found.records)
      t.deepEqual(found.refused, ['flumelog:invalid', 'flumelog:locked', 'flumelog:invalid', 'flumelog:invalid', 'ABORTED'])
      t.deepEqual(found.logs, [name, `${name}-copy`, `${name}-other`])
      write(folder('.'), await page.evaluate(exported, `${name}-copy`))
      const log = await openInNode(folder(`${name}-copy`), { codec: 'json' })
      t.deepEqual(await all(log), found.records)
      await log.close()
    }
  })


})
