'use strict'

// A stream is pulled into a log in a file: what the two have in common, and what is refused.

const fs = require('fs')
const test = require('tape')
const JetStreamLog = require('..')
const FlumeLog = require('flumelog-random-access-file')
const { CopiedLog } = require('flumelog-random-access-file/blocks')
const { open } = require('flumelog-random-access-file/promises')
const { newFile, testFolder } = require('../../../test/helpers/folder')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { withServer, streamName } = require('./helpers/nats')
const { promises } = require('../../../test/helpers/promises')
const { pullOnce, recordsIn, isCopy, Pulling, request } = require('./helpers/pulling')
const { codeOf, collect } = require('../../../test/helpers/reading')

const codec = require('flumecodec').json
const numbered = (from, count) => Array.from({ length: count }, (_, i) => Buffer.from(`record ${from + i}`))

withServer('pull', (shared) => {
  /** A log in a stream of its own. */
  async function newStream (options) {
    const stream = streamName()
    const log = openLog(shared.server, { stream, ...options })
    await log.onReady()
    return { stream, log }
  }

  test('a copy has each record of the stream once, in order, byte by byte, and goes on where it was', async (t) => {
    const file = testFolder(t)('copy')
    const { stream, log } = await newStream()
    const { server } = shared
    t.deepEqual(await pullOnce(server, stream, file), { records: 0, bytes: 0, deleted: 0, seq: 0 }, 'of an empty stream')
    await log.append([Buffer.from([0xff, 0, 0xfe]), Buffer.from('é\n'), ...numbered(0, 3000)])
    t.equal((await pullOnce(server, stream, file)).records, 3002)
    await isCopy(t, server, stream, file, 'all that was there')
    t.equal((await pullOnce(server, stream, file)).records, 0, 'there is nothing to do')
    await log.append(numbered(3000, 1))
    t.deepEqual(await pullOnce(server, stream, file), { records: 1, bytes: 11, deleted: 0, seq: 3003 })
    await isCopy(t, server, stream, file, 'and what came since')
  })

  test('a log is not pulled from the stream that is its own mirror; a copy of that stream elsewhere is', async (t) => {
    const file = testFolder(t)
    const stream = streamName()
    const log = promises(FlumeLog(file('log')))
    await log.append(numbered(0, 3))
    const source = { servers: shared.server.url, stream }
    await JetStreamLog.mirror(log.log, source, { live: false })
    const err = await JetStreamLog.pull(source, log.log, { live: false }).catch(err => err)
    t.equal(err.code, 'flumelog:invalid')
    t.match(err.message, /is a mirror of this log/)
    t.equal(fs.existsSync(`${file('log')}.pull`), false)
    await log.close()
    t.equal((await pullOnce(shared.server, stream, file('copy'))).records, 3)
    fs.copyFileSync(file('log'), file('backup'))
    t.equal((await pullOnce(shared.server, stream, file('backup'))).records, 0)
  })

  test('a live pull follows the stream, carries over deletions, and ends with the reason of its signal', async (t) => {
    const file = testFolder(t)('copy')
    const { stream, log } = await newStream()
    const pulling = new Pulling(shared.server, stream, file)
    await log.append(numbered(0, 2000))
    await pulling.until(({ seq, lag }) => seq === 2000 && lag === 0)
    t.deepEqual(await collect(pulling.log, { lt: 30, values: true, seqs: false }), numbered(0, 3), 'its records can be read meanwhile')
    await log.append(numbered(2000, 1))
    await pulling.until(({ records }) => records === 2001)
    await log.del([1, 1000, 2001])
    await pulling.until(({ deleted }) => deleted === 3)
    t.equal(await pulling.stop(), 'stopped')
    await isCopy(t, shared.server, stream, file, 'it equals the stream')
    t.equal((await pullOnce(shared.server, stream, file)).records, 0)
  })

  test('a live pull that waits for a server says so, and ends with what onProgress throws then', async (t) => {
    const file = testFolder(t)('copy')
    const { stream, log } = await newStream()
    await log.append(numbered(0, 10))
    const pulling = new Pulling(shared.server, stream, file)
    await pulling.until(({ lag, seq }) => seq === 10 && lag === 0)
    await shared.server.stop()
    await pulling.until(({ isConnected }) => !isConnected)
    pulling.onProgress = () => { throw new Error('thrown') }
    await pulling.ended
    t.equal(pulling.reason, 'thrown')
    await pulling.close()
    await shared.server.start()
    await isCopy(t, shared.server, stream, file, 'it has what was pulled')
  })

  test('a live pull ends when its log is closed, also while it waits for a server', async (t) => {
    const path = testFolder(t)
    const { stream, log } = await newStream()
    await log.append(numbered(0, 10))
    const [idle, waiting] = ['idle', 'waiting'].map(name => new Pulling(shared.server, stream, path(name)))
    await idle.until(({ lag, seq }) => seq === 10 && lag === 0)
    await idle.close()
    t.equal(await idle.ended, 'flumelog:closed')
    await waiting.until(({ lag, seq }) => seq === 10 && lag === 0)
    await shared.server.stop()
    await waiting.until(({ isConnected }) => !isConnected)
    await waiting.close()
    t.equal(await waiting.ended, 'flumelog:closed')
    await shared.server.start()
    await isCopy(t, shared.server, stream, path('waiting'), 'it has what was pulled')
  })

  test('deletions and purges are carried over, whenever they were made', async (t) => {
    const file = testFolder(t)('copy')
    const { stream, log } = await newStream()
    const { server } = shared
    const size = 200
    await log.append(Array.from({ length: 5000 }, (_, i) => Buffer.alloc(size, `record ${i % 7} `)))
    await log.del([2, 3, 50])
    await pullOnce(server, stream, file)
    for (const [what, deletion] of Object.entries({
      'a record': 1700,
      'some of many equal ones': [300, 301, 307, 4999],
      'the first and the last one': [1, 5000],
      'a range': { gte: 2000, lt: 2500 }
    })) {
      await log.del(deletion)
      const { deleted } = await pullOnce(server, stream, file)
      t.ok(deleted > 0)
      await isCopy(t, server, stream, file, what)
    }
    await log.append(numbered(5000, 10))
    await request(server, `STREAM.PURGE.${stream}`, { seq: 4000 })
    await pullOnce(server, stream, file)
    await isCopy(t, server, stream, file, 'a purge of older records')
    const { start } = await statOf(file)
    t.ok(start > 0, 'whose blocks are trimmed')
    await request(server, `STREAM.PURGE.${stream}`)
    await pullOnce(server, stream, file)
    t.deepEqual(await recordsIn(file), [], 'a purge of all')
    t.notOk(fs.readFileSync(file).includes('record '), 'nothing of what was deleted is left in the file')
    await log.append(numbered(5010, 10))
    await pullOnce(server, stream, file)
    await isCopy(t, server, stream, file, 'and then it goes on')
  })

  test('what a crash has left after the last line of FILE.pull is found in the stream', async (t) => {
    const file = testFolder(t)('copy')
    const { stream, log } = await newStream()
    const { server } = shared
    await log.append(numbered(0, 700))
    await pullOnce(server, stream, file)
    const index = fs.readFileSync(`${file}.pull`)
    const reopened = Buffer.concat([index.subarray(0, index.lastIndexOf('\n', index.length - 2) + 1), Buffer.from('0123')])
    await log.append(numbered(700, 900))
    const { records } = await pullOnce(server, stream, file)
    t.equal(records, 900)
    fs.writeFileSync(`${file}.pull`, reopened)
    await log.del([701, 800, 1600])
    await log.append(numbered(1600, 10))
    t.deepEqual(await pullOnce(server, stream, file), { records: 10, bytes: 110, deleted: 3, seq: 1610 }, 'no record is appended twice')
    await isCopy(t, server, stream, file, 'what was deleted meanwhile is deleted')
  })

  test('a copy that is compacted while its index is read is pulled on', async (t) => {
    const { server } = shared
    for (const hasIndex of [true, false]) {
      const file = testFolder(t)('copy')
      const { stream, log } = await newStream()
      await log.append(numbered(0, 3000))
      await pullOnce(server, stream, file)
      if (!hasIndex) fs.rmSync(`${file}.pull`)
      const copy = promises(FlumeLog(file))
      const { readFile } = fs.promises
      let isCompacted = false
      Object.assign(fs.promises, {
        readFile: async (name, options) => {
          const found = await readFile(name, options).catch(err => err)
          if (name === `${file}.pull` && !isCompacted) {
            isCompacted = true
            await new Promise((resolve, reject) => copy.log.compact((err) => err ? reject(err) : resolve(null)))
          }
          if (found instanceof Error) throw found
          return found
        }
      })
      const outcome = await codeOf(JetStreamLog.pull({ servers: server.url, stream }, copy.log, { live: false }))
      Object.assign(fs.promises, { readFile })
      await copy.close()
      t.ok(isCompacted)
      t.match(outcome, /no error/, hasIndex ? 'with an index' : 'a backup')
      t.equal((await pullOnce(server, stream, file)).records, 0, 'it is known where it ends')
      await isCopy(t, server, stream, file, 'it equals the stream')
    }
  })

  test('another stream, one that was made anew, or one that ends before the copy is refused, and nothing is changed', async (t) => {
    const path = testFolder(t)
    const { server } = shared
    const { stream, log } = await newStream()
    const other = await newStream()
    await log.append(numbered(0, 100))
    await other.log.append(numbered(0, 100))
    const file = path('copy')
    await pullOnce(server, stream, file)
    const before = [fs.readFileSync(file), fs.readFileSync(`${file}.pull`)]
    const refused = async (from, code, what) => {
      t.equal(await codeOf(pullOnce(server, from, file)), code, what)
      t.deepEqual([fs.readFileSync(file), fs.readFileSync(`${file}.pull`)], before)
    }
    await refused(other.stream, 'flumelog:replaced', 'another stream')
    await log.close()
    const made = JSON.parse((await request(server, `STREAM.INFO.${stream}`)).string()).config
    await request(server, `STREAM.DELETE.${stream}`)
    await refused(stream, 'flumelog:invalid', 'no stream')
    await request(server, `STREAM.CREATE.${stream}`, made)
    await refused(stream, 'flumelog:replaced', 'one of the same name')
    // as if the server had lost its last messages, and got others
    const { stream: shorter, log: longer } = await newStream()
    const short = path('short')
    await longer.append(numbered(0, 10))
    await pullOnce(server, shorter, short)
    const { created } = JSON.parse((await request(server, `STREAM.INFO.${shorter}`)).string())
    const text = before[1].toString().split('\n').map(line => line.slice(9)).join('\n')
    const { formatLine } = require('../../../lib/format/lines')
    fs.copyFileSync(file, short)
    fs.writeFileSync(`${short}.pull`, text.trim().split('\n').map(line => formatLine(line.replace(/"stream":"[^"]*","created":"[^"]*"/, `"stream":"${shorter}","created":"${created}"`))).join(''))
    t.equal(await codeOf(pullOnce(server, shorter, short, { timeout: 500 })), 'flumelog:replaced', 'one that ends before the copy')
    await longer.append(numbered(1000, 200))
    t.equal(await codeOf(pullOnce(server, shorter, short)), 'flumelog:invalid', 'one with other messages')
    t.equal((await recordsIn(short)).length, 100)
  })

  test('a stream that is made anew while it is pulled ends the pull', async (t) => {
    const file = testFolder(t)('copy')
    const { server } = shared
    const { stream, log } = await newStream()
    await log.append(numbered(0, 10))
    const pulling = new Pulling(server, stream, file)
    await pulling.until(({ seq }) => seq === 10)
    const { config } = JSON.parse((await request(server, `STREAM.INFO.${stream}`)).string())
    await request(server, `STREAM.DELETE.${stream}`)
    await request(server, `STREAM.CREATE.${stream}`, config)
    const again = openLog(server, { stream })
    await again.append(numbered(500, 30))
    t.equal(await pulling.ended, 'flumelog:replaced')
    await pulling.close()
    t.deepEqual(await recordsIn(file), numbered(0, 10).map(String), 'nothing of it is appended')
  })

  test('a log with other records, one that others append to, and one in use are refused', async (t) => {
    const path = testFolder(t)
    const { server } = shared
    const { stream, log } = await newStream()
    await log.append(numbered(0, 10))
    const source = { servers: server.url, stream }
    const once = { live: false }

    const own = promises(FlumeLog(path('own')))
    await own.append('mine')
    t.equal(await codeOf(JetStreamLog.pull(source, own.log, once)), 'flumelog:invalid', 'it has records of its own')
    await own.close()

    const copy = promises(FlumeLog(path('copy')))
    await copy.onReady()
    const pulled = JetStreamLog.pull(source, copy.log, once)
    t.equal(await codeOf(JetStreamLog.pull(source, copy.log, once)), 'flumelog:invalid', 'it is pulled already')
    t.equal(await codeOf(pullOnce(server, stream, path('copy'))), 'flumelog:locked', 'by another log object')
    await pulled
    await copy.append('mine')
    await copy.close()
    await log.append(numbered(10, 1))
    t.equal(await codeOf(pullOnce(server, stream, path('copy'))), 'flumelog:invalid', 'something else was appended to it')
    t.equal((await recordsIn(path('copy'))).length, 11, 'which is kept')

    const both = new Pulling(server, stream, path('both'))
    await both.until(({ seq }) => seq === 11)
    await both.append('mine')
    await log.append(numbered(11, 1))
    t.equal(await both.ended, 'flumelog:invalid', 'something else is appended to it')
    await both.close()

    for (const [options, code] of [[{ shared: true }, 'flumelog:invalid'], [{ retain: { bytes: 5 } }, 'flumelog:invalid'], [{ readOnly: true }, 'flumelog:read-only']]) {
      const refused = promises(FlumeLog(path('own'), options))
      t.equal(await codeOf(JetStreamLog.pull(source, refused.log, once)), code, Object.keys(options)[0])
      await refused.close()
    }
    const memory = promises(FlumeLog(newFile()))
    await memory.close()
    t.equal(await codeOf(JetStreamLog.pull(source, {}, once)), 'flumelog:invalid', 'no log')
    for (const [what, options] of [[{ ...source, codec }, {}], [source, { lives: true }], [source, { live: 1 }], [source, { signal: 1 }], [source, { onProgress: 1 }], [{ servers: server.url }, {}]]) {
      t.equal(await codeOf(JetStreamLog.pull(what, memory.log, options)), 'flumelog:invalid')
    }
  })

  test('a backup of a copy is pulled on', async (t) => {
    const path = testFolder(t)
    const { server } = shared
    const { stream, log } = await newStream()
    await log.append(numbered(0, 3000))
    await log.del([1, 1500, 2999])
    await pullOnce(server, stream, path('copy'))
    const copy = await open(path('copy'))
    await copy.backup(path('backup'))
    await copy.backup(path('other'))
    await copy.close()
    t.equal((await pullOnce(server, stream, path('backup'))).records, 0)
    await isCopy(t, server, stream, path('backup'), 'of what was there')
    await log.append(numbered(3000, 500))
    await log.del([2, 3, 1100, 2500, 3000, 3400])
    const { records, deleted } = await pullOnce(server, stream, path('other'))
    t.deepEqual({ records, deleted }, { records: 499, deleted: 5 })
    await isCopy(t, server, stream, path('other'), 'of what is there since')
    await log.del(100)
    t.equal((await pullOnce(server, stream, path('other'))).deleted, 1, 'and later')
  })

  test('a log without an index that has other records is refused, and stays as it is', async (t) => {
    const path = testFolder(t)
    const { server } = shared
    const { stream, log } = await newStream()
    await log.append(numbered(0, 100))
    await log.del(Array.from({ length: 50 }, (_, i) => 10 + i))
    for (const [name, records] of [['none', numbered(500, 10)], ['some', [...numbered(0, 5), ...numbered(500, 10)]], ['before', numbered(60, 5)]]) {
      const own = await open(path(name))
      await own.append(records)
      await own.close()
      t.equal(await codeOf(pullOnce(server, stream, path(name))), 'flumelog:invalid', name)
      t.equal((await recordsIn(path(name))).length, records.length)
      t.notOk(fs.existsSync(`${path(name)}.pull`))
    }
  })

  test('a log whose index is corrupt, or whose file is missing, is refused', async (t) => {
    const path = testFolder(t)
    const { server } = shared
    const { stream, log } = await newStream()
    await log.append(numbered(0, 10))
    await pullOnce(server, stream, path('a'))
    fs.copyFileSync(path('a.pull'), path('c.pull'))
    t.equal(await codeOf(pullOnce(server, stream, path('c'))), 'flumelog:invalid', 'no records')
    fs.writeFileSync(path('a.pull'), 'x')
    t.equal(await codeOf(pullOnce(server, stream, path('a'))), 'flumelog:corrupt', 'an index without a valid line')
  })

  test('the copy has the bytes of the stream, whatever the codecs', async (t) => {
    const file = testFolder(t)('copy')
    const { stream, log } = await newStream({ codec })
    await log.append([{ a: 1 }, { b: [2, 'é'] }])
    // one that writes something else than it reads
    const sealed = { encode: () => { throw new Error('no codec is asked') }, decode: JSON.parse }
    const copy = await open(file, { codec: sealed })
    await JetStreamLog.pull({ servers: shared.server.url, stream }, copy, { live: false })
    const got = []
    for await (const { value } of copy.stream()) got.push(value)
    t.deepEqual(got, [{ a: 1 }, { b: [2, 'é'] }], 'a log with promises, and a codec')
    await copy.close()
    await isCopy(t, shared.server, stream, file, 'byte by byte')
  })

  test('large records need a copy with the option large; what cannot be stored is named, and what is before it is kept', async (t) => {
    const path = testFolder(t)
    const { server } = shared
    const { stream, log } = await newStream()
    await log.append([...numbered(0, 3), Buffer.alloc(200_000, 'large'), ...numbered(3, 3), Buffer.alloc(900_000, 'larger'), ...numbered(6, 3)])
    t.equal(await codeOf(pullOnce(server, stream, path('small'))), 'flumelog:too-large')
    t.deepEqual(await recordsIn(path('small')), numbered(0, 3).map(String))
    await pullOnce(server, stream, path('copy'), { large: true })
    await isCopy(t, server, stream, path('copy'), 'with large', { large: true })
    await log.del([4, 5])
    await log.append(numbered(9, 3))
    await pullOnce(server, stream, path('copy'), { large: true })
    await isCopy(t, server, stream, path('copy'), 'a large one is deleted', { large: true })
    await request(server, stream, undefined, `${stream}.other`)
    t.equal(await codeOf(pullOnce(server, stream, path('copy'), { large: true })), 'flumelog:invalid', 'a message without data, of another program')
    await isCopyBut(t, server, stream, path('copy'))
  })

  test('a copy can be compacted', async (t) => {
    const path = testFolder(t)
    const { server } = shared
    const { stream, log } = await newStream()
    await log.append(numbered(0, 500))
    await log.append(Array.from({ length: 1500 }, (_, i) => Buffer.alloc(100, `r${i} `)))
    const file = path('copy')
    await pullOnce(server, stream, file)
    await log.del({ gte: 100, lt: 400 })
    await pullOnce(server, stream, file)
    await compact(file)
    await log.del([10, 450])
    await log.append(numbered(9000, 10))
    await pullOnce(server, stream, file)
    await isCopy(t, server, stream, file, 'compacted between two pulls')

    const pulling = new Pulling(server, stream, file)
    await pulling.until(({ lag }) => lag === 0)
    await new Promise((resolve, reject) => pulling.log.compact((err) => err ? reject(err) : resolve()))
    await log.del([20, 1600])
    await log.append(numbered(10000, 10))
    await pulling.until(({ records, deleted }) => records === 10 && deleted === 2)
    await pulling.stop()
    await isCopy(t, server, stream, file, 'compacted while it is pulled')

    const trimmed = promises(FlumeLog(file))
    await trimmed.trim({ lt: Infinity })
    await trimmed.close()
    t.equal(await codeOf(pullOnce(server, stream, file)), 'flumelog:invalid', 'but not be trimmed: it would not be complete')
  })

  test('a copy can be compacted between the answer to an append of the pull and the pull going on', async (t) => {
    const { server } = shared
    const { stream, log } = await newStream()
    const file = testFolder(t)('copy')
    await log.append(numbered(0, 500))
    await pullOnce(server, stream, file)
    await log.del({ gte: 100, lt: 400 })
    await pullOnce(server, stream, file)

    const { append } = CopiedLog.prototype
    t.teardown(() => { CopiedLog.prototype.append = append })
    CopiedLog.prototype.append = async function (records) {
      const seq = await append.call(this, records)
      await new Promise((resolve, reject) => this.log.compact((err) => err ? reject(err) : resolve()))
      return seq
    }
    const pulling = new Pulling(server, stream, file)
    for (const from of [500, 510]) {
      await log.append(numbered(from, 10))
      await pulling.until(({ records }) => records === from - 490)
      await log.del(from)
      await pulling.until(({ deleted }) => deleted === (from - 490) / 10)
    }
    await pulling.stop()
    CopiedLog.prototype.append = append
    await isCopy(t, server, stream, file, 'compacted after each append')
  })

  async function compact (file) {
    const log = FlumeLog(file)
    await new Promise((resolve, reject) => log.compact((err) => err ? reject(err) : resolve()))
    await promises(log).close()
  }

  async function statOf (file) {
    const log = promises(FlumeLog(file, { readOnly: true }))
    await log.onReady()
    const stats = log.log.stats()
    await log.close()
    return stats
  }

  /** All but the last message. */
  async function isCopyBut (t, server, stream, file) {
    await request(server, `STREAM.MSG.DELETE.${stream}`, { seq: JSON.parse((await request(server, `STREAM.INFO.${stream}`)).string()).state.last_seq })
    await isCopy(t, server, stream, file, 'which is then all that it lacks', { large: true })
  }

  test.onFinish(closeLogs)
})
