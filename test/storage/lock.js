'use strict'

// One writer at a time, in this process and in others, and concurrent readers.

const tape = require('tape')
const fs = require('fs')
const path = require('path')
const { once } = require('events')
const { Worker } = require('worker_threads')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { start } = require('../helpers/processes')
const { promises } = require('../helpers/promises')
const { collect, codeOf } = require('../helpers/reading')
const { runtime, signal } = require('../helpers/runtime')

const WITHOUT_NATIVE_PART = [path.join(__dirname, '..', 'helpers', 'programs', 'without-native-part.js')]

const openLog = (file, options) => promises(FlumeLog(file, options))
const texts = async ({ log }) => (await collect(log, { seqs: false })).map(String)

tape('a second writer in the same process gets an error that names the file, and has no effect', async (t) => {
  const file = testFolder(t)('log')
  const first = openLog(file)
  await first.append(Buffer.from('one'))
  await published()
  const before = snapshot(file)

  const second = openLog(file)
  const err = await second.onReady().catch(err => err)
  t.equal(err.code, 'flumelog:locked', 'it is refused')
  t.equal(err.filename, file, 'the error has the file')
  t.ok(err.message.includes(file), 'its message names the file')
  t.equal(await codeOf(second.append(Buffer.from('two'))), 'flumelog:locked', 'append gets the error too')
  t.equal(await codeOf(collect(second.log)), 'flumelog:locked', 'so does a stream')
  await second.close()
  t.deepEqual(snapshot(file), before, 'the file and FILE.meta are as they were')
  t.equal(await codeOf(openLog(file).onReady()), 'flumelog:locked', 'the first still has its lock when the second has closed')

  await first.append(Buffer.from('three'))
  await first.close()
  const third = openLog(file)
  t.deepEqual(await texts(third), ['one', 'three'], 'the first writer was not disturbed, and its lock went with close')
  await third.close()
})

/** The writer tells readers in other processes what it has acknowledged at the end of a turn of the event loop. */
function published () {
  return new Promise(resolve => setImmediate(() => setImmediate(resolve)))
}

tape('a writer that is refused leaves the torn tail of the other one alone', async (t) => {
  const file = testFolder(t)('log')
  const first = openLog(file)
  await first.append(Buffer.from('one'))
  await published()
  // as if the first writer were in the middle of a write
  fs.appendFileSync(file, Buffer.from([200, 0, 1, 2, 3]))
  const before = snapshot(file)
  const second = openLog(file)
  t.equal(await codeOf(second.onReady()), 'flumelog:locked', 'it is refused')
  t.deepEqual(snapshot(file), before, 'nothing was cut')
  await second.close()
  await first.close()
})

tape('a second writer in another process is rejected until the first one is killed', async (t) => {
  const file = testFolder(t)('log')
  const first = start(t, 'open-logs.js', [{ file, options: { lock: 'required' } }])
  await first.message(({ what }) => what === 'opened')
  first.send({ append: 'one' })
  await first.message(({ what }) => what === 'appended')

  const second = openLog(file)
  const err = await second.onReady().catch(err => err)
  t.equal(err.code, 'flumelog:locked', 'refused while the first lives')
  const third = start(t, 'open-logs.js', [{ file, options: {} }])
  const refused = await third.message(({ what }) => what === 'refused')
  t.equal(refused.code, 'flumelog:locked', 'refused in a third process')
  t.equal(refused.filename, file, 'which is told the file')

  await first.kill()
  const next = openLog(file, { lock: 'required' })
  await next.onReady()
  t.deepEqual(await texts(next), ['one'], 'the lock went with the process, and the log is whole')
  await next.close()
})

tape('a lock is released when its process exits without closing', async (t) => {
  const file = testFolder(t)('log')
  const first = start(t, 'open-logs.js', [{ file, options: { lock: 'required' } }])
  await first.message(({ what }) => what === 'opened')
  signal(first.child, 'SIGTERM')
  await first.over
  const next = openLog(file, { lock: 'required' })
  t.equal(await codeOf(next.onReady().then(() => 'open')), 'no error, but "open"', 'the next writer gets it')
  await next.close()
})

/** Bun keeps the files of a worker open when that is terminated, and so their locks. */
const KEEPS_FILES = runtime === 'bun'

tape('a worker thread is another writer, and terminating it in the middle of its appends releases the lock', { skip: KEEPS_FILES }, async (t) => {
  const file = testFolder(t)('log')
  const program = `
    const { workerData: { entry, file }, parentPort } = require('worker_threads')
    const log = require(entry)(file, { lock: 'required' })
    const append = () => log.append(Buffer.from('record'), (err, seq) => {
      parentPort.postMessage(err ? err.code : seq)
      if (!err) append()
    })
    append()`
  const startWorker = () => {
    const worker = new Worker(program, { eval: true, workerData: { entry: path.join(__dirname, '../..'), file } })
    const messages = []
    worker.on('message', message => messages.push(message))
    return { worker, messages, first: once(worker, 'message') }
  }
  const first = startWorker()
  await first.first
  const second = startWorker()
  t.deepEqual(await second.first, ['flumelog:locked'], 'a second worker is refused')
  await second.worker.terminate()
  t.equal(await codeOf(openLog(file).onReady()), 'flumelog:locked', 'and so is the main thread, also after that one was terminated')
  await first.worker.terminate()

  let next
  do {
    // Deno closes the files a moment later
    next = openLog(file, { lock: 'required' })
  } while (await codeOf(next.onReady()) === 'flumelog:locked')
  const acknowledged = first.messages.length
  t.ok((await texts(next)).length >= acknowledged, `the lock is free, and the ${acknowledged} acknowledged records are there`)
  await next.close()
})

tape('readers neither need nor take the lock', async (t) => {
  const file = testFolder(t)('log')
  const writer = openLog(file)
  await writer.append(Buffer.from('one'))
  await published()
  const readers = [openLog(file, { readOnly: true }), openLog(file, { readOnly: true, lock: 'required' })]
  for (const reader of readers) t.deepEqual(await texts(reader), ['one'], 'a reader beside the writer')
  await writer.close()

  const next = openLog(file)
  t.equal(await codeOf(next.append(Buffer.from('two'))), 'no error, but 7', 'a writer beside the readers')
  for (const log of [next, ...readers]) await log.close()
})

tape('with lock: false, a log that another writer has locked can be opened', async (t) => {
  const file = testFolder(t)('log')
  const locked = openLog(file)
  await locked.append(Buffer.from('one'))
  await locked.sync()
  const other = openLog(file, { lock: false })
  t.deepEqual(await texts(other), ['one'], 'it is open, and reads')
  t.equal(await codeOf(openLog(file).onReady()), 'flumelog:locked', 'the lock of the first still holds')
  await locked.close()
  const next = openLog(file)
  t.deepEqual(await texts(next), ['one'], 'and the one without a lock holds none')
  for (const log of [other, next]) await log.close()
})

tape('lock: true warns once for all logs if files cannot be locked', async (t) => {
  const inFolder = testFolder(t)
  const logs = ['a', 'b', 'c'].map(name => ({ file: inFolder(name), options: { lock: true } }))
  const program = start(t, 'open-logs.js', logs, { preload: WITHOUT_NATIVE_PART })
  await program.message(({ what }) => what === 'ready')
  t.deepEqual(told(program, 'opened').map(({ file }) => file), logs.map(({ file }) => file), 'all three are open')
  const warnings = told(program, 'warning')
  t.deepEqual(warnings.map(({ code }) => code), ['FLUMELOG_NO_LOCK'], 'one warning')
  t.match(String(warnings[0]?.message), /files cannot be locked here \(.+\)/, 'which says why')
  program.send({ append: 'one' })
  t.equal((await program.message(({ what }) => what === 'appended')).seq, 0, 'and appending works')
  program.send({ close: true })
  t.equal((await program.over).code, 0, 'it ends well')
})

tape('lock: "required" is an error if files cannot be locked', async (t) => {
  const inFolder = testFolder(t)
  const logs = [{ file: inFolder('a'), options: { lock: 'required' } }, { file: inFolder('b'), options: { lock: false } },
    { file: inFolder('b'), options: { readOnly: true, lock: 'required' } }]
  const program = start(t, 'open-logs.js', logs, { preload: WITHOUT_NATIVE_PART })
  await program.message(({ what }) => what === 'ready')
  const [refused] = told(program, 'refused')
  t.equal(refused.code, 'flumelog:no-lock', 'the error has a code')
  t.equal(refused.filename, inFolder('a'), 'and the file')
  t.ok(refused.message.includes(inFolder('a')) && /files cannot be locked here: ./.test(refused.message), 'its message says which file, and why')
  t.equal(told(program, 'opened').length, 2, 'a log without a lock and a reader need nothing')
  t.equal(told(program, 'warning').length, 0, 'and nobody is warned')
})

const told = (program, what) => program.messages.filter(message => message.what === what)

/** All files in the directory of the log, by name. */
function snapshot (file) {
  const folder = path.dirname(file)
  return Object.fromEntries(fs.readdirSync(folder).sort().map(name => [name, fs.readFileSync(path.join(folder, name)).toString('hex')]))
}

tape('a writer that waits for the lock of a log that is replaced meanwhile opens the file that took its place', async (t) => {
  const name = testFolder(t)
  const file = name('log')
  for (const before of ['replaced', 'deleted']) {
    const first = openLog(file)
    await first.append('before')
    await first.close()
    const { fstatSync } = fs
    // the writer has opened the file, and does not have the lock yet
    fs.fstatSync = (...args) => {
      fs.fstatSync = fstatSync
      if (before === 'replaced') {
        fs.copyFileSync(file, name('copy'))
        fs.renameSync(file, name('old'))
        fs.renameSync(name('copy'), file)
      } else {
        fs.renameSync(file, name('old'))
      }
      return fstatSync(...args)
    }
    const log = openLog(file)
    await log.append('after')
    fs.fstatSync = fstatSync
    await log.close()
    const reader = openLog(file, { readOnly: true })
    t.deepEqual(await texts(reader), before === 'replaced' ? ['before', 'after'] : ['after'], before)
    await reader.close()
    fs.rmSync(file)
  }
})
