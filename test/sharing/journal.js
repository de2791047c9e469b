'use strict'

// The journal's file: what is written when, what becomes of it when the disk is full, and
// when it is replaced. test/sharing/journal-model.js has what the next owner makes of it.

const fs = require('fs')
const test = require('tape')
const { CLIENT, RUN, VOID, FORGET, MOVE, ENTRY_SIZE, HEADER_SIZE } = require('../../lib/sharing/journal-entries')
const { systemClock } = require('../../lib/clock')
const { Journal } = require('../../lib/sharing/journal')
const { KnownClients } = require('../../lib/sharing/known-clients')
const { failing } = require('../helpers/failing-calls')
const { testFolder } = require('../helpers/folder')
const { noSmallDisk, smallDisk } = require('../helpers/full')
const { runtime } = require('../helpers/runtime')

const A = Buffer.alloc(16, 0xa)
const B = Buffer.alloc(16, 0xb)
const client = (slot, id, stored = 0) => ({ type: CLIENT, slot, id, stored })
const run = (slot, first, count, seq) => ({ type: RUN, slot, first, count, seq })

/** A journal beside a log. `clients` is what its owner knows, for snapshots. */
function journalIn (t, { folder = testFolder(t), mode = 0o644, clients = [], maxSize, Class = Journal } = {}) {
  const log = folder('log')
  fs.writeFileSync(log, '')
  fs.chmodSync(log, mode)
  const filename = folder('log.clients')
  const journal = new Class(filename, () => fs.statSync(log), () => clients, maxSize)
  t.teardown(() => journal.close())
  return { folder, filename, journal, clients, unfinished: filename + '.new' }
}

const modeOf = (file) => (fs.statSync(file).mode & 0o777).toString(8)
const sizeOf = (file) => fs.statSync(file).size

test('without a journal nothing is read, and a started one has what it was started with', (t) => {
  const { journal, filename } = journalIn(t)
  t.deepEqual(journal.read(), [])
  t.equal(journal.start([]), null)
  t.deepEqual(journal.read(), [])
  t.equal(sizeOf(filename), HEADER_SIZE)
  const clients = [
    { id: A, stored: 4, runs: [{ first: 3, count: 2, seq: 300 }, { first: 5, count: 1, seq: 500 }] },
    { id: B, stored: 1, runs: [{ first: 1, count: 1, seq: 400 }] }
  ]
  t.equal(journal.start(clients), null)
  t.deepEqual(journal.read(), [client(0, A, 4), client(1, B, 1), run(0, 3, 2, 300), run(1, 1, 1, 400), run(0, 5, 1, 500)], 'runs in the order of their seqs')
  t.deepEqual([journal.addClient(B, 1), journal.addClient(A, 5), journal.addClient(Buffer.alloc(16), 0)], [1, 0, 2], 'slots stay')
  t.end()
})

test('what is queued is in the file after flush, written at once', (t) => {
  const { journal } = journalIn(t)
  journal.start([])
  const a = journal.addClient(A, 7)
  journal.addRun(a, 8, 3, 0)
  journal.forget(a)
  journal.forget(a)
  t.deepEqual(journal.read(), [])
  const { writeSync } = fs
  const sizes = []
  t.teardown(() => { fs.writeSync = writeSync })
  fs.writeSync = (...args) => {
    sizes.push(args[3])
    return writeSync(...args)
  }
  t.equal(journal.flush(), null)
  t.equal(journal.flush(), null)
  t.deepEqual(sizes, [3 * ENTRY_SIZE], 'and nothing if there is nothing')
  t.deepEqual(journal.read(), [client(0, A, 7), run(0, 8, 3, 0), { type: FORGET, slot: 0 }])
  t.end()
})

test('after a roll back, queued runs are dropped, and a void is written if a run could reach beyond it', (t) => {
  const { journal } = journalIn(t)
  const voids = () => {
    journal.flush()
    return journal.read().filter(({ type }) => type === VOID).map(({ offset }) => offset)
  }
  journal.start([])
  const a = journal.addClient(A, 0)
  journal.addRun(a, 1, 1, 0)
  journal.voidFrom(0)
  t.deepEqual(voids(), [], 'not if none was flushed')
  journal.addRun(a, 1, 1, 0)
  journal.flush()
  journal.addRun(a, 2, 1, 100)
  journal.voidFrom(100)
  journal.voidFrom(90)
  t.deepEqual(voids(), [90])
  journal.voidFrom(90)
  journal.voidFrom(200)
  t.deepEqual(voids(), [90], 'nor again')
  journal.voidFrom(50)
  t.deepEqual(voids(), [90, 50], 'but if it is further in front')
  journal.addRun(a, 2, 1, 60)
  journal.flush()
  journal.voidFrom(60)
  t.deepEqual(voids(), [90, 50, 60])
  t.deepEqual(journal.read().filter(({ type }) => type === RUN), [run(0, 1, 1, 0), run(0, 2, 1, 60)])
  t.end()
})

test('a flush on a full disk fails, hides nothing that is written later, and leaves nothing that counts', (t) => {
  for (const room of [0, 10, 32, 50, 64, 95, 96]) {
    const { journal } = journalIn(t)
    journal.start([])
    const a = journal.addClient(A, 0)
    journal.flush()
    journal.voidFrom(0)
    for (let i = 0; i < 4; i++) journal.addRun(a, i + 1, 1, 10 * i)
    const err = failing({ room }, () => journal.flush())
    t.equal(err?.code, 'ENOSPC', `room ${room}`)
    t.ok(err.message.includes('log.clients'))
    journal.voidFrom(0)
    t.equal(journal.flush(), null)
    t.deepEqual(journal.read().slice(1).filter(({ type }) => type !== VOID), [], 'the void is the last')
    journal.addRun(a, 1, 9, 0)
    t.equal(journal.flush(), null)
    t.deepEqual(journal.read().at(-1), run(0, 1, 9, 0))
  }
  t.end()
})

test('what a failed flush has left is removed, even if the next one starts with the same entries', (t) => {
  const { journal } = journalIn(t)
  journal.start([{ id: A, stored: 0, runs: [{ first: 1, count: 1, seq: 0 }] }])
  journal.voidFrom(10)
  journal.addRun(0, 2, 1, 10)
  journal.addRun(0, 4, 1, 20)
  failing({ room: 64 }, () => journal.flush())
  journal.voidFrom(10)
  t.equal(failing({ ftruncate: true }, () => journal.flush())?.code, 'ENOSPC', 'it waits until that is possible')
  t.equal(journal.flush(), null)
  t.deepEqual(journal.read(), [client(0, A), run(0, 1, 1, 0), { type: VOID, offset: 10 }])
  t.end()
})

test('what a failed flush could not write is written by the next', (t) => {
  const { journal } = journalIn(t)
  journal.start([])
  const a = journal.addClient(A, 0)
  journal.addRun(a, 1, 1, 0)
  failing({ room: 33 }, () => journal.flush())
  journal.addRun(a, 2, 1, 10)
  t.equal(journal.flush(), null)
  t.deepEqual(journal.read(), [client(0, A), run(0, 1, 1, 0), run(0, 2, 1, 10)])
  t.end()
})

test('a small disk that is full: flushes fail until there is room', { skip: noSmallDisk ?? false }, (t) => {
  const disk = smallDisk(t)
  const { journal, unfinished } = journalIn(t, { folder: disk.file })
  journal.start([])
  const a = journal.addClient(A, 0)
  disk.leave(0)
  let flushed = 0
  let err = null
  while (err === null && flushed < 1000) {
    journal.addRun(a, flushed + 1, 1, flushed * 10)
    err = journal.flush()
    if (err === null) flushed++
  }
  t.equal(err?.code, 'ENOSPC')
  t.notOk(journal.start([]) === null, 'neither can it be started again')
  t.notOk(fs.existsSync(unfinished))
  t.equal(journal.read().length, flushed + 1, 'the old one is still there')
  disk.makeRoom()
  t.equal(journal.start([{ id: A, stored: flushed, runs: [] }]), null)
  t.deepEqual(journal.read(), [client(0, A, flushed)])
  t.end()
})

test('a file of more than 1 MiB is replaced by a snapshot, with what is queued behind it', (t) => {
  const { journal, clients, filename } = journalIn(t)
  journal.start([])
  const a = journal.addClient(A, 0)
  clients.push({ id: A, stored: 9, runs: [{ first: 9, count: 1, seq: 90 }] })
  let largest = 0
  let number = 0
  while (sizeOf(filename) >= largest) {
    largest = sizeOf(filename)
    for (let i = 0; i < 100; i++) journal.addRun(a, ++number, 1, number * 10)
    t.equal(journal.flush() ?? null, null)
  }
  t.ok(largest <= 1024 * 1024 && largest > 1024 * 1024 - 101 * ENTRY_SIZE, `${largest} bytes before`)
  t.deepEqual(journal.read().slice(0, 3), [client(0, A, 9), run(0, 9, 1, 90), run(0, number - 99, 1, number * 10 - 990)])
  t.equal(journal.read().length, 102)
  journal.addRun(a, ++number, 1, number * 10)
  t.equal(journal.flush(), null)
  t.deepEqual(journal.read().at(-1), run(0, number, 1, number * 10), 'it goes on in the new file')
  t.end()
})

test('a file is not replaced before it is four times as large as the last snapshot', (t) => {
  const many = Array.from({ length: 20 }, (_, i) => ({ id: Buffer.alloc(16, i), stored: 0, runs: [] }))
  const { journal, filename } = journalIn(t, { maxSize: 100, clients: many.slice(0, 2) })
  journal.start(many)
  const before = sizeOf(filename)
  let most = before
  for (let i = 0; sizeOf(filename) >= most; i++) {
    most = sizeOf(filename)
    journal.addRun(0, i + 1, 1, i)
    journal.flush()
  }
  t.equal(most, 4 * before)
  t.equal(sizeOf(filename), HEADER_SIZE + 3 * ENTRY_SIZE)
  t.end()
})

test('if it cannot be replaced, it grows, and is replaced later', (t) => {
  const { journal, filename, unfinished } = journalIn(t, { maxSize: 320, clients: [{ id: A, stored: 0, runs: [] }] })
  journal.start([])
  const a = journal.addClient(A, 0)
  let attempts = 0
  const add = (count) => {
    for (let i = 0; i < count; i++) {
      journal.addRun(a, 1, 1, 10)
      if (journal.flush() !== null) t.fail('it fails')
    }
  }
  const { renameSync } = fs
  t.teardown(() => { fs.renameSync = renameSync })
  fs.renameSync = () => {
    attempts++
    throw new Error('no')
  }
  add(30)
  fs.renameSync = renameSync
  t.equal(journal.read().length, 31)
  t.equal(attempts, 3, 'it is not tried each time')
  t.notOk(fs.existsSync(unfinished))
  add(15)
  t.ok(sizeOf(filename) <= 320, `${sizeOf(filename)} bytes`)
  t.end()
})

test('a slot is that of another client once it was forgotten and the file replaced', (t) => {
  const { journal } = journalIn(t, { maxSize: 200 })
  journal.start([])
  const a = journal.addClient(A, 0)
  journal.forget(a)
  const b = journal.addClient(B, 0)
  t.notEqual(b, a)
  for (let i = 0; i < 8; i++) {
    journal.addClient(B, i)
    journal.flush()
  }
  t.equal(journal.addClient(Buffer.alloc(16), 0), a)
  t.equal(journal.addClient(B, 0), b)
  t.end()
})

test('what a process has left unfinished is replaced', (t) => {
  const { journal, unfinished } = journalIn(t)
  fs.writeFileSync(unfinished, 'what was written before the process was killed, longer than what comes', { mode: 0o444 })
  t.equal(journal.start([]), null)
  t.notOk(fs.existsSync(unfinished))
  t.deepEqual(journal.read(), [])
  fs.writeFileSync(unfinished, '')
  t.equal(journal.remove(), null)
  t.notOk(fs.existsSync(unfinished))
  t.end()
})

test('the file has the mode of the log, whatever the umask, and was never wider', { skip: process.platform === 'win32' }, (t) => {
  const before = process.umask(0)
  t.teardown(() => process.umask(before))
  for (const [mode, umask] of [[0o600, 0], [0o640, 0o077], [0o666, 0o077]]) {
    process.umask(umask)
    const { journal, filename } = journalIn(t, { mode, maxSize: 100 })
    const { fchmodSync } = fs
    const modes = []
    fs.fchmodSync = (fd, mode) => {
      modes.push((fs.fstatSync(fd).mode & 0o777).toString(8))
      fchmodSync(fd, mode)
    }
    journal.start([])
    for (let i = 0; i < 5; i++) {
      journal.addClient(A, i)
      journal.flush()
    }
    fs.fchmodSync = fchmodSync
    t.equal(modeOf(filename), mode.toString(8))
    t.deepEqual([...new Set(modes)], ['600'], `${modes.length} files`)
  }
  t.end()
})

test('a group that is not the log\'s may do no more than everybody', { skip: process.platform === 'win32' }, (t) => {
  const { fchownSync } = fs
  t.teardown(() => { fs.fchownSync = fchownSync })
  fs.fchownSync = () => { throw Object.assign(new Error('EPERM'), { code: 'EPERM' }) }
  for (const [mode, expected] of [[0o660, '600'], [0o664, '644'], [0o666, '666']]) {
    const { filename, folder } = journalIn(t, { mode })
    const status = Object.assign(fs.statSync(folder('log')), { gid: 54321 })
    const journal = new Journal(filename, () => status, () => [])
    t.teardown(() => journal.close())
    t.equal(journal.start([]), null)
    t.equal(modeOf(filename), expected)
  }
  t.end()
})

test('a start that fails leaves what the owner before has left, and nothing else can be written', (t) => {
  const { journal, folder, unfinished } = journalIn(t)
  journal.start([{ id: A, stored: 4, runs: [] }])
  journal.close()
  for (const faults of [{ room: 20 }, { open: true }, { rename: true }]) {
    const next = journalIn(t, { folder }).journal
    t.equal(failing(faults, () => next.start([]))?.code, 'ENOSPC', JSON.stringify(faults))
    next.addClient(B, 0)
    t.ok(next.flush() instanceof Error)
    t.deepEqual(next.read(), [client(0, A, 4)])
    t.notOk(fs.existsSync(unfinished))
  }
  const gone = new Journal(folder('log.clients'), () => fs.statSync(folder('gone')), () => [])
  t.equal(gone.start([])?.code, 'ENOENT', 'if the log is gone')
  t.end()
})

test('after close the file stays, after remove there is none', (t) => {
  const { journal, filename } = journalIn(t)
  journal.start([{ id: A, stored: 4, runs: [] }])
  journal.close()
  journal.close()
  t.deepEqual(journal.read(), [client(0, A, 4)])
  journal.addClient(A, 5)
  t.ok(journal.flush() instanceof Error, 'nothing is written to it')
  t.equal(journal.remove(), null)
  t.notOk(fs.existsSync(filename))
  t.equal(journal.remove(), null, 'nor a second time')
  t.deepEqual(journal.read(), [])
  fs.mkdirSync(filename)
  t.throws(() => journal.read(), { code: 'EISDIR', path: filename }, 'a directory cannot be read')
  t.ok(journal.start([]) instanceof Error)
  t.ok(journal.remove() instanceof Error)
  t.end()
})

test('a journal that cannot be read is not taken for none', async (t) => {
  const { journal, filename } = journalIn(t)
  journal.start([{ id: A, stored: 4, runs: [] }])
  const clients = new KnownClients(() => journal, systemClock)
  const load = () => clients.load(0, async () => Buffer.alloc(0), 4096)
  const err = await failing({ readFile: true }, load).catch(err => err)
  t.equal(err?.code, 'ENOSPC')
  t.ok(err?.message.includes(filename))
  await load()
  t.equal(clients.clients.size, 1, 'it can be read later')
})

test('a journal without a valid entry is removed, so that no later owner reads it', async (t) => {
  for (const bytes of [Buffer.alloc(0), Buffer.alloc(200, 'x')]) {
    const { journal, filename } = journalIn(t)
    fs.writeFileSync(filename, bytes)
    const clients = new KnownClients(() => journal, systemClock)
    await clients.load(0, async () => Buffer.alloc(0), 4096)
    t.equal(clients.clients.size, 0)
    t.notOk(fs.existsSync(filename), `${bytes.length} bytes`)
  }
})

// Deno does not let the platform be replaced as the test does it
test('where no open file can be replaced, it is closed before', { skip: runtime === 'deno' }, (t) => {
  const platform = Object.getOwnPropertyDescriptor(process, 'platform')
  const files = ['../../lib/sharing/journal', '../../lib/sharing/journal-file'].map(file => require.resolve(file))
  const forget = () => { for (const file of files) delete require.cache[file] }
  forget()
  Object.defineProperty(process, 'platform', { ...platform, value: 'win32' })
  const { Journal: Class } = require(files[0])
  Object.defineProperty(process, 'platform', platform)
  forget()

  const { journal, filename } = journalIn(t, { Class, maxSize: 320, clients: [{ id: A, stored: 0, runs: [] }] })
  const { openSync, closeSync, renameSync } = fs
  t.teardown(() => Object.assign(fs, { openSync, closeSync, renameSync }))
  let open = 0
  let renames = 0
  fs.openSync = (...args) => {
    const fd = openSync(...args)
    open++
    return fd
  }
  fs.closeSync = (fd) => {
    open--
    closeSync(fd)
  }
  fs.renameSync = (...args) => {
    if (open > 0) t.fail('a file is open')
    if (++renames === 2) throw new Error('no')
    renameSync(...args)
  }
  journal.start([])
  const a = journal.addClient(A, 0)
  for (let i = 1; i <= 40; i++) {
    journal.addRun(a, i, 1, i * 10)
    if (journal.flush() !== null || journal.read().at(-1).first !== i) t.fail(`run ${i}`)
  }
  t.ok(renames > 3, `${renames} times`)
  t.ok(sizeOf(filename) <= 320)
  journal.close()
  t.equal(open, 0)
  t.end()
})

test('while the log moves to another file no run is written: the next owner could not tell of which of both it is', (t) => {
  for (const isMoved of [true, false]) {
    const { journal } = journalIn(t)
    journal.start([])
    journal.addClient(A, 0)
    journal.addRun(0, 1, 1, 100)
    journal.flush()
    journal.addRun(0, 2, 1, 200)
    journal.startMove(150, 1000)
    // a client comes meanwhile, and what others append
    journal.addRun(0, 3, 1, 1100)
    journal.addClient(B, 0)
    t.equal(journal.flush(), null)
    const before = [client(0, A), run(0, 1, 1, 100), { type: MOVE, offset: 150, base: 1000 }, client(1, B)]
    t.deepEqual(journal.read(), before)
    journal.endMove(isMoved)
    if (isMoved) {
      journal.addRun(0, 2, 1, 1050)
      journal.flush()
      t.deepEqual(journal.read(), [...before, run(0, 2, 1, 1050)], 'they are added again')
    } else {
      journal.flush()
      t.deepEqual(journal.read(), [...before, run(0, 2, 1, 200), run(0, 3, 1, 1100), { type: MOVE, offset: 150, base: 0 }], 'it stays where it is')
    }
  }
  t.end()
})
