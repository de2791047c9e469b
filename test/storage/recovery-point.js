'use strict'

// The recovery point's file by itself: what it says, to this process and to others,
// and what becomes of it when its writer ends or fails.

const test = require('tape')
const fs = require('fs')
const path = require('path')
const { promisify } = require('util')
const FlumeLog = require('../..')
const locking = require('fs-native-extensions')
const { pointFile } = require('../../lib/storage/recovery-point')
const { testFolder } = require('../helpers/folder')
const { start } = require('../helpers/processes')
const { promises } = require('../helpers/promises')
const { event } = require('../helpers/reading')
const { isNode } = require('../helpers/runtime')

const PROGRAMS = path.join(__dirname, '..', 'helpers', 'programs')
const WITHOUT_NATIVE_PART = [path.join(PROGRAMS, 'without-native-part.js')]
const POINT = { offset: 128, deletions: [], acknowledged: 200 }
/** The same, as it is read. */
const READ = { ...POINT, dropped: 0 }

/** Of one record in a block, of this many bytes. */
const deletion = (block, length, checksum = 4294967295) => ({
  block,
  records: [{ seq: block, length, replaces: Buffer.alloc(Math.ceil(length / 64) * 4, length) }],
  checksum,
  number: 1
})

/** The recovery point of a log with mode 0644. */
function pointIn (t, { mode = 0o644, folder = testFolder(t), blocking = true } = {}) {
  const log = folder('log')
  fs.writeFileSync(log, '')
  fs.chmodSync(log, mode)
  const filename = folder('log.recovery-point')
  const point = pointFile(filename, folder('.'), () => fs.promises.stat(log), blocking)
  t.teardown(() => point.release())
  return {
    filename,
    folder,
    read: promisify(point.read),
    write: promisify(point.write),
    record: promisify(point.record),
    sync: promisify(point.sync),
    remove: promisify(point.remove),
    publish: point.publish,
    release: point.release
  }
}

const holder = (t, { filename, folder }, options) => start(t, 'hold-point.js', { filename, folder: folder('.'), point: POINT }, options)
const written = ({ what }) => what === 'written'

test('what was written is read, with its deletions, another id each time, and held', async (t) => {
  const { read, write } = pointIn(t)
  t.equal(await read(), null, 'there is none at first')
  await write(POINT)
  const first = await read()
  t.deepEqual(first, { ...READ, id: first.id, writer: first.writer, isHeld: true })
  const deletions = [deletion(64, 100)]
  await write({ offset: 256, deletions, dropped: 3, acknowledged: 300 })
  const second = await read()
  t.deepEqual(second, { offset: 256, deletions, dropped: 3, acknowledged: 300, id: second.id, writer: second.writer, isHeld: true })
  t.notEqual(second.id, first.id)
  t.equal(second.writer, first.writer)
})

test('what is published is read, and nothing else changes', async (t) => {
  const { read, write, publish } = pointIn(t)
  await write(POINT)
  const { id, writer } = await read()
  for (const acknowledged of [201, 65536, 2 ** 40 + 1, Number.MAX_SAFE_INTEGER]) {
    publish(acknowledged)
    t.deepEqual(await read(), { ...READ, acknowledged, id, writer, isHeld: true }, String(acknowledged))
  }
})

test('what is published while the file is being replaced is in the new one', async (t) => {
  const { read, write, publish } = pointIn(t)
  await write(POINT)
  const { rename } = fs.promises
  t.teardown(() => { fs.promises.rename = rename })
  fs.promises.rename = async (from, to) => {
    await rename(from, to)
    publish(999)
  }
  await write({ ...POINT, acknowledged: 300 })
  t.equal((await read()).acknowledged, 999)
})

test('a recovery point with large deletions is read whole', async (t) => {
  const { read, write } = pointIn(t)
  const deletions = [0, 1, 2].map(number => deletion(number * 65536, 65000))
  await write({ ...POINT, deletions })
  t.deepEqual((await read()).deletions, deletions)
  // around the size up to which one read is enough
  for (let lines = 725; lines < 760; lines++) {
    const deletions = [deletion(0, lines * 64)]
    await write({ ...POINT, deletions })
    const found = await read()
    if (found?.acknowledged !== 200 || !found.deletions[0].records[0].replaces.equals(deletions[0].records[0].replaces)) t.fail(`with ${lines} checksums`)
  }
})

test('recorded deletions are read in their order, behind those it was written with, and change what tells it from any other', async (t) => {
  for (const blocking of [true, false]) {
    const { read, write, record, sync, publish } = pointIn(t, { blocking })
    const deletions = [deletion(0, 10), deletion(64, 100, null), deletion(0, 20), deletion(128, 5000)]
    await write({ ...POINT, deletions: deletions.slice(0, 1) })
    const before = await read()
    await record(deletions.slice(1, 3))
    publish(201)
    await record(deletions.slice(3))
    await sync()
    const after = await read()
    t.deepEqual(after, { ...READ, deletions, acknowledged: 201, id: after.id, writer: after.writer, isHeld: true })
    t.notEqual(after.id, before.id)
    await write(POINT)
    t.deepEqual((await read()).deletions, [], 'the next one is without them')
  }
})

test('of recorded deletions those count that are whole, up to the first that is not', async (t) => {
  const { filename, read, write, record } = pointIn(t)
  const deletions = [deletion(0, 10), deletion(64, 100), deletion(128, 200)]
  await write(POINT)
  const ends = [fs.statSync(filename).size]
  for (const one of deletions) {
    await record([one])
    ends.push(fs.statSync(filename).size)
  }
  const whole = fs.readFileSync(filename)
  for (let length = ends[0]; length <= whole.length; length++) {
    fs.writeFileSync(filename, whole.subarray(0, length))
    // a line is whole without its newline
    const count = ends.slice(1).filter(end => end - 1 <= length).length
    if ((await read()).deletions.length !== count) t.fail(`cut to ${length} bytes`)
  }
  for (let at = ends[1]; at < ends[2]; at++) {
    const flipped = Buffer.from(whole)
    flipped[at] ^= 1
    fs.writeFileSync(filename, flipped)
    if ((await read()).deletions.length !== 1) t.fail(`with another byte at ${at}`)
  }
  t.pass('cut anywhere, or with any byte changed')
})

test('a deletion that could not be recorded is overwritten by the next', { skip: process.platform === 'win32' }, async (t) => {
  const { filename, read, write, record } = pointIn(t)
  await write(POINT)
  const { writeSync } = fs
  fs.writeSync = (fd, bytes, from, size, offset) => writeSync(fd, bytes, from, Math.min(size, 300), offset)
  const err = await record([deletion(0, 10000)]).catch(err => err)
  fs.writeSync = writeSync
  t.equal(err.code, 'ENOSPC')
  t.deepEqual((await read()).deletions, [])
  await record([deletion(64, 10)])
  t.deepEqual((await read()).deletions, [deletion(64, 10)])
  t.ok(fs.statSync(filename).size > 0)
})

test('after remove there is no file, and to publish does nothing', async (t) => {
  const { filename, read, write, publish, remove } = pointIn(t)
  publish(1)
  t.notOk(fs.existsSync(filename), 'nor does it before the first one')
  await write(POINT)
  await remove()
  publish(300)
  t.equal(await read(), null)
  t.notOk(fs.existsSync(filename))
})

test('once it is released, the file stays, and is not held', async (t) => {
  const { read, write, publish, release } = pointIn(t)
  await write(POINT)
  const { id, writer } = await read()
  release()
  publish(300)
  t.deepEqual(await read(), { ...READ, id, writer, isHeld: false })
})

test('it is held by another process while that lives, whatever it replaces, and not after SIGKILL', async (t) => {
  const point = pointIn(t)
  const process = holder(t, point)
  await process.message(written)
  t.equal((await point.read()).isHeld, true)
  process.send({ publish: 4096 })
  await process.message(({ what }) => what === 'published')
  t.equal((await point.read()).acknowledged, 4096, 'what it publishes is seen')
  process.send({ write: { ...POINT, acknowledged: 5000 } })
  await process.message(message => written(message) && process.messages.indexOf(message) > 1)
  const { isHeld, acknowledged } = await point.read()
  t.deepEqual({ isHeld, acknowledged }, { isHeld: true, acknowledged: 5000 })
  await process.kill()
  const left = await point.read()
  t.deepEqual(left, { ...READ, acknowledged: 5000, id: left.id, writer: left.writer, isHeld: false })
})

test('a reader never sees a live writer as dead, or half an offset, while it publishes and replaces the file', async (t) => {
  const point = pointIn(t)
  const process = holder(t, point)
  await process.message(written)
  const wrong = []
  let reads = 0
  for (let round = 0; round < 20; round++) {
    process.send({ publishMany: 3000 })
    process.send({ write: { ...POINT, acknowledged: 111111111111111 } })
    const seen = () => process.messages.filter(written).length > round + 1
    while (!seen()) {
      const found = await point.read()
      // it is read at once, before messages
      if (reads++ % 10 === 0) await event(setImmediate)
      const isRight = found !== null && found.isHeld && /^(\d)\1{14}$|^200$/.test(String(found.acknowledged))
      if (!isRight) wrong.push(found)
    }
  }
  t.deepEqual(wrong, [], `of ${reads} reads`)
})

test('while a file is put in place of another, it never says less than that one', async (t) => {
  const filename = testFolder(t)('log.recovery-point')
  const point = pointFile(filename, path.dirname(filename), async () => fs.statSync(path.dirname(filename)))
  const write = (acknowledged) => new Promise((resolve, reject) => point.write({ ...POINT, acknowledged }, err => err ? reject(err) : resolve()))
  const acknowledgedIn = (name) => Number(fs.readFileSync(name, 'latin1').split('\n')[1].split(' ')[1])
  await write(1)
  const { writeSync } = fs
  const { rename } = fs.promises
  t.teardown(() => {
    fs.writeSync = writeSync
    fs.promises.rename = rename
  })
  const found = []
  fs.promises.rename = (...args) => {
    fs.writeSync = (...args) => {
      writeSync(...args)
      found.push([acknowledgedIn(filename), acknowledgedIn(filename + '.new')])
    }
    point.publish(7)
    fs.writeSync = writeSync
    return rename(...args)
  }
  await write(2)
  t.deepEqual(found.at(-1), [7, 7], 'both are told what is acknowledged meanwhile')
  t.ok(found.every(([before, next]) => next >= before), 'the one that is to be found next first')
  await new Promise(resolve => point.remove(resolve))
})

test('what a reader finds acknowledged never goes back while the file is replaced', async (t) => {
  for (const blocking of [true, false]) {
    const filename = testFolder(t)('log.recovery-point')
    const point = pointFile(filename, path.dirname(filename), async () => fs.statSync(path.dirname(filename)), blocking)
    const write = (acknowledged) => new Promise((resolve, reject) => point.write({ ...POINT, acknowledged }, err => err ? reject(err) : resolve()))
    const read = () => new Promise((resolve, reject) => point.read((err, found) => err ? reject(err) : resolve(found.acknowledged)))
    let acknowledged = 1
    await write(acknowledged)
    const state = { isWriting: true }
    const publishing = function publish () {
      if (state.isWriting) setImmediate(publish)
      point.publish(++acknowledged)
    }
    publishing()
    const backward = []
    let last = 0
    const reading = (async () => {
      while (state.isWriting) {
        const found = await read()
        if (found < last) backward.push([last, found])
        last = found
      }
    })()
    for (let i = 0; i < 100; i++) await write(acknowledged)
    state.isWriting = false
    await reading
    t.deepEqual(backward, [], blocking ? 'published by synchronous I/O' : 'by asynchronous I/O')
    await new Promise(resolve => point.remove(resolve))
  }
})

// elsewhere the package that the test replaces is not used
test('an offset that was read half-written is read again', { skip: !isNode }, async (t) => {
  const { filename, read, write } = pointIn(t)
  await write(POINT)
  const whole = fs.readFileSync(filename)
  const overwrite = (bytes) => {
    const fd = fs.openSync(filename, 'r+')
    fs.writeSync(fd, bytes, 0, bytes.length, 0)
    fs.closeSync(fd)
  }
  const half = Buffer.from(whole)
  half.write('9', half.length - 2)
  overwrite(half)
  const { tryLock } = locking
  t.teardown(() => { locking.tryLock = tryLock })
  let reads = 0
  // called after each read, to know whether the writer is alive
  locking.tryLock = (...args) => {
    if (++reads === 2) overwrite(whole)
    return tryLock(...args)
  }
  t.equal((await read()).acknowledged, 200)
  t.equal(reads, 3, 'until it is whole')

  overwrite(half)
  t.equal((await read()).acknowledged, null, 'or, if it stays as it is, not known')
})

test('a first line that is not whole counts as missing', async (t) => {
  const { filename, read, write } = pointIn(t)
  await write(POINT)
  const whole = fs.readFileSync(filename)
  const [first] = whole.toString().split('\n')
  for (let length = 0; length < first.length; length++) {
    fs.writeFileSync(filename, whole.subarray(0, length))
    if (await read() !== null) t.fail(`cut to ${length} bytes`)
  }
  for (let at = 0; at < first.length; at++) {
    const flipped = Buffer.from(whole)
    flipped[at] ^= 1
    fs.writeFileSync(filename, flipped)
    if (await read() !== null) t.fail(`with another byte at ${at}`)
  }
  t.pass('cut anywhere, or with any byte changed')
})

test('it gets the mode of the log, whatever the umask', async (t) => {
  const before = process.umask(0o077)
  t.teardown(() => process.umask(before))
  for (const mode of [0o644, 0o664, 0o600, 0o640]) {
    const { filename, write } = pointIn(t, { mode })
    await write(POINT)
    t.equal(fs.statSync(filename).mode & 0o777, mode, mode.toString(8))
    process.umask(0)
    await write(POINT)
    t.equal(fs.statSync(filename).mode & 0o777, mode, `${mode.toString(8)}, when it is replaced`)
    process.umask(0o077)
  }
})

test('one that a writer of a log makes has the mode of the log', async (t) => {
  const file = testFolder(t)('log')
  fs.writeFileSync(file, '')
  fs.chmodSync(file, 0o644)
  const before = process.umask(0o077)
  t.teardown(() => process.umask(before))
  const log = promises(FlumeLog(file))
  await log.append('one')
  t.equal(fs.statSync(file + '.recovery-point').mode & 0o777, 0o644)
  await log.close()
})

test('it gets the owner of the log from a writer that may give files away', { skip: process.getuid?.() !== 0 }, async (t) => {
  const { filename, folder, write } = pointIn(t)
  fs.chownSync(folder('log'), 12345, 23456)
  await write(POINT)
  const { uid, gid } = fs.statSync(filename)
  t.deepEqual({ uid, gid }, { uid: 12345, gid: 23456 })
})

test('its errors name it, not the log', async (t) => {
  const { filename, read, write } = pointIn(t)
  fs.mkdirSync(filename)
  for (const failed of [await read().catch(err => err), await write(POINT).catch(err => err)]) {
    t.ok(failed instanceof Error && failed.message.includes(filename), failed.message)
    t.ok(failed.path.startsWith(filename), failed.path)
  }
  t.deepEqual(fs.readdirSync(path.dirname(filename)).sort(), ['log', 'log.recovery-point'], 'and nothing else is left')
})

test('without the package that locks files it is read and published, but never held', async (t) => {
  const point = pointIn(t)
  const process = holder(t, point, { preload: WITHOUT_NATIVE_PART })
  await process.message(written)
  process.send({ publish: 4096 })
  await process.message(({ what }) => what === 'published')
  const found = await point.read()
  t.deepEqual(found, { ...READ, acknowledged: 4096, id: found.id, writer: found.writer, isHeld: false })
})
