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

  test('a worker appends, reads, deletes, trims, compacts and commits to cursors, and finds all of it when it opens the log again', async (t) => {
    const result = await inWorker(page, async ({ open }) => {
      const all = async (log, options) => {
        const values = []
        for await (const { value } of log.stream(options)) values.push(value.i)
        return values
      }
      const found = {}
      let log = await open('members', { codec: 'json', blockSize: 1024 })
      const seqs = []
      for (let i = 0; i < 300; i++) seqs.push(await log.append({ i, padding: 'x'.repeat(i % 50) }))
      found.ordered = seqs.every((seq, i) => i === 0 || seq > seqs[i - 1])
      found.get = (await log.get(seqs[123])).i
      found.search = (await log.search(({ i }) => i - 200)).value.i
      await log.del(seqs[150])
      found.deleted = await log.get(seqs[150]).catch(err => err.code)
      found.start = await log.trim({ lt: seqs[100] }) === log.start && log.start > 0
      found.trimmed = await log.get(seqs[0]).catch(err => err.code)
      const cursor = log.cursor('mine')
      await cursor.ready()
      await cursor.commit(seqs[200])
      const before = await all(log)
      found.live = []
      const live = log.stream({ old: false })
      const appended = log.append({ i: 300 })
      found.live.push((await live.next()).value.value.i)
      await live.return()
      await appended
      await log.close()

      log = await open('members', { codec: 'json' })
      found.blockSize = log.blockSize
      const again = await all(log)
      found.same = JSON.stringify(again) === JSON.stringify([...before, 300])
      found.reverse = (await all(log, { reverse: true, limit: 3 }))
      found.after = []
      for await (const { value } of log.cursor('mine').stream({ limit: 2 })) found.after.push(value.i)
      const { id } = log
      const { deleted, records } = await log.compact()
      found.compacted = [deleted > 0, records === again.length, log.id !== id, JSON.stringify(await all(log)) === JSON.stringify(again)]
      await log.close()

      log = await open('members', { codec: 'json', readOnly: true })
      found.reopened = JSON.stringify(await all(log)) === JSON.stringify(again)
      found.readOnly = await log.append({}).catch(err => err.code)
      found.cursors = (await log.cursors()).map(({ name }) => name)
      await log.close()
      return found
    })
    t.deepEqual(result, {
      ordered: true,
      get: 123,
      search: 200,
      deleted: 'flumelog:deleted',
      start: true,
      trimmed: 'flumelog:trimmed',
      live: [300],
      blockSize: 1024,
      same: true,
      reverse: [300, 299, 298],
      after: [201, 202],
      compacted: [true, true, true, true],
      reopened: true,
      readOnly: 'flumelog:read-only',
      cursors: ['mine']
    })
  })

  test('a log is byte for byte the one of Node.js, which dumps and verifies what is exported', async (t) => {
    const folder = testFolder(t)
    await inWorker(page, `async ({ open }) => {
      const valueOf = ${valueOf}
      const log = await open('events', { codec: 'json', blockSize: 4096 })
      await (${fill})(log, ${RECORDS})
      await log.close()
    }`)
    write(folder('.'), await page.evaluate(exported, 'events'))
    t.deepEqual(fs.readdirSync(folder('.')).sort(), ['events', 'events.cursor-done', 'events.meta'])
    const mine = await openInNode(folder('mine'), { codec: 'json', blockSize: 4096 })
    await fill(mine, RECORDS)
    await mine.close()
    t.ok(fs.readFileSync(folder('events')).equals(fs.readFileSync(folder('mine'))), 'the same appends and deletions give the same bytes')
    const dumped = spawnSync(process.execPath, [FLUMELOG, 'dump', folder('events')], { encoding: 'utf8', maxBuffer: 2 ** 26 })
    t.equal(dumped.status, 0, dumped.stderr)
    t.equal(dumped.stdout, spawnSync(process.execPath, [FLUMELOG, 'dump', folder('mine')], { encoding: 'utf8', maxBuffer: 2 ** 26 }).stdout)
    const verified = spawnSync(process.execPath, [FLUMELOG, 'verify', folder('events')], { encoding: 'utf8' })
    t.equal(verified.status, 0, verified.stdout + verified.stderr)
    const log = await openInNode(folder('events'), { codec: 'json' })
    t.equal((await log.cursors())[0].name, 'done')
    await log.close()
  })

  test('a log of Node.js is imported, appended to in the browser, and goes back', async (t) => {
    const folder = testFolder(t)
    const log = await openInNode(folder('node.log'), { codec: 'json', blockSize: 4096 })
    await fill(log, RECORDS)
    const before = await all(log)
    await log.close()
    const files = fs.readdirSync(folder('.')).map(name => ({ name, base64: fs.readFileSync(folder(name), 'base64') }))
    await page.evaluate(imported, 'imported', files)
    const found = await inWorker(page, `async ({ open }) => {
      const log = await open('imported', { codec: 'json' })
      const cursor = log.cursor('done')
      const seq = await cursor.ready()
      const records = await (${all})(log)
      await log.append({ i: 'more' })
      await log.close()
      return { seq, records }
    }`)
    t.deepEqual(found.records, before)
    fs.mkdirSync(folder('back'))
    write(folder('back'), await page.evaluate(exported, 'imported'))
    const back = await openInNode(folder('back/imported'), { codec: 'json' })
    t.equal(await back.cursor('done').ready(), found.seq)
    t.deepEqual((await all(back)).map(({ value }) => value.i), [...before.map(({ value }) => value.i), 'more'])
    await back.close()
    t.match(await page.evaluate(imported, 'imported', files).catch(err => err.message), /EEXIST/, 'no log is replaced')
    t.match(await page.evaluate(imported, 'other', [...files, { name: 'stranger', base64: '' }]).catch(err => err.message), /no file of the log/)
  })

  test('a compacted log takes the space of its records, not that of the offsets in front of them, and moves to Node.js and back', async (t) => {
    const folder = testFolder(t)
    const compacted = await inWorker(page, `async ({ open }) => {
      const valueOf = ${valueOf}
      let log = await open('compacted', { codec: 'json', blockSize: 4096 })
      await (${fill})(log, ${RECORDS})
      const before = log.stats().allocated
      await log.compact()
      await log.append({ i: 'more' })
      await log.trim({ lt: (await log.search(({ i }) => i === 'more' ? 0 : i - 2000)).seq })
      await log.compact()
      await log.close()
      log = await open('compacted', { codec: 'json' })
      const records = await (${all})(log)
      const { start } = log
      const after = log.stats().allocated
      const cursor = await log.cursor('done').ready()
      await log.close()
      return { before, after, start, records, cursor }
    }`)
    const { before, after, start, records, cursor } = compacted
    t.ok(after < before && start > 2 * before, `${before} bytes, then ${after}, from offset ${start}`)
    t.deepEqual(records.map(({ value }) => value.i).slice(-2001), [...Array.from({ length: 2000 }, (_, i) => i + RECORDS - 2000), 'more'])
    write(folder('.'), await page.evaluate(exported, 'compacted'))
    const log = await openInNode(folder('compacted'), { codec: 'json' })
    t.deepEqual(await all(log), records)
    t.equal(await log.cursor('done').ready(), cursor)
    await log.append({ i: 'node' })
    await log.close()
    const verified = spawnSync(process.execPath, [FLUMELOG, 'verify', folder('compacted')], { encoding: 'utf8' })
    t.equal(verified.status, 0, verified.stdout + verified.stderr)
    await page.evaluate(imported, 'again', fs.readdirSync(folder('.')).map(name => ({ name, base64: fs.readFileSync(folder(name), 'base64') })))
    const again = await inWorker(page, `async ({ open }) => {
      const log = await open('again', { codec: 'json' })
      const records = await (${all})(log)
      const { allocated } = log.stats()
      await log.close()
      return { records, allocated }
    }`)
    t.deepEqual(again.records.map(({ value }) => value.i), [...records.map(({ value }) => value.i), 'node'])
    t.ok(again.allocated < before, `imported, it takes ${again.allocated} bytes`)
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

  test('what a backup has left whose worker was terminated is no log, and files can be imported in its place', async (t) => {
    await inWorker(page, async ({ open }) => {
      const log = await open('interrupted', { blockSize: 4096 })
      await log.append(Array.from({ length: 1000 }, () => 'x'.repeat(100)))
      await log.backup('interrupted-copy', {
        onProgress () {
          // it is terminated when this has arrived
          globalThis.postMessage({ result: null })
          for (;;);
        }
      })
    })
    const found = await inWorker(page, async ({ open, exportFiles, importFiles, listLogs }) => {
      const before = await listLogs()
      await importFiles('interrupted-copy', await exportFiles('interrupted'))
      const log = await open('interrupted-copy')
      let records = 0
      for await (const batch of log.batches()) records += batch.length
      await log.close()
      return { listed: before.filter(name => name.startsWith('interrupted')), records }
    })
    t.deepEqual(found, { listed: ['interrupted'], records: 1000 })
  })

  test('a worker that has a log open can open it again to read, and follows it, but not to write', async (t) => {
    const found = await inWorker(page, async ({ open }) => {
      const log = await open('followed', { codec: 'json' })
      await log.append(1)
      const second = await open('followed', { codec: 'json' }).catch(err => err.code)
      const reader = await open('followed', { codec: 'json', readOnly: true })
      const values = []
      const reading = (async () => {
        for await (const { value } of reader.stream({ live: true })) {
          values.push(value)
          if (value === 3) break
        }
      })()
      await log.append(2)
      await log.compact()
      await log.append(3)
      await reading
      await log.close()
      const last = []
      for await (const { value } of reader.stream({ reverse: true, limit: 1 })) last.push(value)
      await reader.close()
      const again = await open('followed', { codec: 'json' })
      await again.close()
      return { second, values, last }
    })
    t.deepEqual(found, { second: 'flumelog:locked', values: [1, 2, 3], last: [3] })
  })

  test('a log that is open is locked for other tabs and workers, until it is closed or its tab is', async (t) => {
    const hold = async (name) => {
      const { open } = flumelog
      globalThis.held = await open(name)
      await globalThis.held.append('first')
    }
    const attempt = async (name, how) => {
      try {
        const log = await flumelog[how](name)
        const records = []
        for await (const { value } of log.stream()) records.push(new TextDecoder().decode(value))
        await log.close()
        return records
      } catch (err) {
        return `${err.code} ${err.message}`
      }
    }
    const other = await open()
    await other.evaluate(hold, 'locked')
    t.match(await page.evaluate(attempt, 'locked', 'open'), /^flumelog:locked locked is open in another tab or worker/)
    await other.close()
    t.deepEqual(await page.evaluate(attempt, 'locked', 'openReleased'), ['first'], 'what a closed tab has appended is there')
  })

  test('what cannot be done has a code, and a message that says what to do', inChromium, async (t) => {
    const codes = await page.evaluate(async () => {
      const { open, removeLog, listLogs } = flumelog
      const why = (promise) => promise.then(() => 'done', err => `${err.code} ${err.message}`)
      const log = await open('refusing')
      const found = {
        name: await why(open('a/b')),
        missing: await why(open('missing', { readOnly: true })),
        option: await why(open('x', { blockSiez: 1 })),
        validate: await why(open('x', { validate: () => {} })),
        keep: await why(Promise.resolve().then(() => log.compact({ keep: () => true }))),
        removed: await why(removeLog('refusing'))
      }
      await log.close()
      await removeLog('refusing')
      found.listed = (await listLogs()).filter(name => ['refusing', 'x', 'missing'].includes(name))
      return found
    })
    t.match(codes.name, /^flumelog:invalid the name of a log/)
    t.match(codes.missing, /^ENOENT /)
    t.match(codes.option, /^flumelog:invalid .*it takes `blockSize`/)
    t.match(codes.validate, /^flumelog:unsupported .*`validate`/)
    t.match(codes.keep, /^flumelog:unsupported .*`keep`/)
    t.match(codes.removed, /^flumelog:locked /)
    t.deepEqual(codes.listed, [], 'what was not opened has left nothing')
    const insecure = await open(insecureAddress())
    t.match(await insecure.evaluate(async () => {
      const { open } = flumelog
      return open('x').then(() => 'open', err => `${err.code} ${err.message}`)
    }), /^flumelog:unsupported .*HTTPS/)
    await insecure.close()
  })

  test('the files of a log that the same worker has open are neither exported nor removed, and an interrupted import is no log', async (t) => {
    const found = await inWorker(page, async ({ open, exportFiles, removeLog, listLogs }) => {
      const why = promise => promise.then(() => 'done', err => err.code)
      const log = await open('busy')
      await log.append('a')
      const found = { open: [await why(exportFiles('busy')), await why(removeLog('busy'))], listed: (await listLogs()).includes('busy') }
      await log.close()
      found.closed = [await why(exportFiles('busy')), await why(removeLog('busy'))]
      // as a worker leaves it that is terminated within importFiles
      const root = await (await navigator.storage.getDirectory()).getDirectoryHandle('flumelog')
      const half = async () => {
        const directory = await root.getDirectoryHandle('half', { create: true })
        await directory.getFileHandle('names', { create: true })
        await directory.getFileHandle('1', { create: true })
      }
      await half()
      found.half = [(await listLogs()).includes('half'), await why(exportFiles('half'))]
      await half()
      found.half.push(await why(removeLog('half')))
      return found
    })
    t.deepEqual(found, { open: ['flumelog:locked', 'flumelog:locked'], listed: true, closed: ['done', 'done'], half: [false, 'ENOENT', 'ENOENT'] })
  })

  test('a full quota fails appends as a full disk does: what was acknowledged is there, and appending works again', inChromium, async (t) => {
    const session = await page.createCDPSession()
    const { origin } = new URL(page.url())
    const { usage } = await page.evaluate(() => navigator.storage.estimate())
    await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: usage + 8 * 1024 * 1024 })
    const full = await page.evaluate(async () => {
      const { open } = flumelog
      const log = globalThis.filled = await open('full')
      const record = new Uint8Array(60000)
      let acknowledged = 0
      for (;;) {
        record.fill(acknowledged + 1)
        try {
          await log.append(record)
          acknowledged++
        } catch (err) {
          return { acknowledged, code: err.code, message: err.message, since: log.since.value }
        }
      }
    })
    t.equal(full.code, 'ENOSPC', full.message)
    t.deepEqual(await page.evaluate(async () => {
      const { importFiles, listLogs } = flumelog
      const code = await importFiles('too-large', [{ name: 'log', data: new Uint8Array(16 * 1024 * 1024).fill(1) }]).catch(err => err.code)
      return [code, (await listLogs()).includes('too-large')]
    }), ['ENOSPC', false], 'an import fails as a whole')
    t.ok(full.acknowledged > 10 && full.acknowledged < 300, `${full.acknowledged} records were stored`)
    await session.send('Storage.overrideQuotaForOrigin', { origin })
    const found = await page.evaluate(async () => {
      const log = globalThis.filled
      await log.append('after')
      await log.close()
      const again = await flumelog.open('full')
      const records = []
      for await (const { value } of again.stream()) records.push(value.length === 60000 ? value[59999] : new TextDecoder().decode(value))
      await again.close()
      return records
    })
    t.deepEqual(found, [...Array.from({ length: full.acknowledged }, (_, i) => (i + 1) % 256), 'after'])
    await session.detach()
  })
})
