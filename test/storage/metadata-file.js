'use strict'

// FILE.meta by itself: what it says, to this process and to others, and what becomes of it when its writer ends or fails.

const test = require('tape')
const fs = require('fs')
const path = require('path')

/** What is called for each fdatasync; null: only that. Replaced before the modules that keep the function are loaded. */
const hooks = { fdatasync: null }
const { fdatasync } = fs
fs.fdatasync = (fd, cb) => (hooks.fdatasync ?? fdatasync)(fd, cb)

const FlumeLog = require('../..')
const locking = require('fs-native-extensions')
const { verify } = require('../../maintenance')
const { MetadataFile } = require('../../lib/storage/metadata-file')
const { PUBLISHED_SIZE, formatEntry, formatMetadata, parseMetadata } = require('../../lib/storage/metadata-text')
const { tailOf } = require('../helpers/bytes')
const { testFolder } = require('../helpers/folder')
const { noSmallDisk, smallDisk } = require('../helpers/full')
const { metadataOf } = require('../helpers/left-metadata')
const { start } = require('../helpers/processes')
const { promises } = require('../helpers/promises')
const { isNode } = require('../helpers/runtime')
const { thorough } = require('../helpers/thorough')

const PROGRAMS = path.join(__dirname, '..', 'helpers', 'programs')
const WITHOUT_NATIVE_PART = [path.join(PROGRAMS, 'without-native-part.js')]
const PAGE_SIZE = 4096

/** Of one record in a block, of this many bytes. */
const deletion = (number, length = 10, checksum = 4294967295) => ({ block: (number - 1) * 64, records: [{ seq: (number - 1) * 64, length }], checksum, number })

/** Of a log of 128 bytes. */
const metadataWith = (more = {}) => metadataOf(Buffer.alloc(128, 1), { blockSize: 64, ...more })

/** The metadata of a log with mode 0644. */
async function fileIn (t, { mode = 0o644, folder = testFolder(t) } = {}) {
  const log = folder('log')
  fs.writeFileSync(log, '')
  fs.chmodSync(log, mode)
  return openIn(t, folder)
}

/** As another process opens it. */
function openIn (t, folder) {
  const file = new MetadataFile(folder('log.meta'), folder('.'), () => fs.promises.stat(folder('log')))
  t.teardown(() => file.release())
  return Object.assign(file, { inFolder: folder })
}

/** What another process reads, which has not read it before. */
const readAgain = (t, { inFolder }) => openIn(t, inFolder).read()

/** Opens it as a log does that was closed. */
async function reopen (t, { inFolder }) {
  const file = openIn(t, inFolder)
  const { metadata, size } = await file.read()
  file.load(metadata, size)
  return file
}

const range = (from, end, step) => Array.from({ length: Math.ceil((end - from) / step) }, (_, i) => from + i * step)
const failed = () => Object.assign(new Error('EIO: made to fail'), { code: 'EIO' })
const holder = async (t, { filename }, options) => start(t, 'hold-metadata.js', { filename, metadata: await metadataWith() }, options)
const written = ({ what }) => what === 'written'

test('what was written is read, as another version each time, and held', async (t) => {
  const file = await fileIn(t)
  t.equal(await file.read(), null, 'there is none at first')
  const metadata = await metadataWith()
  await file.replace(metadata)
  const first = await file.read()
  t.deepEqual([first.metadata, first.published, first.isHeld], [metadata, 0, true])
  const next = await metadataWith({ deletions: [deletion(1), deletion(2, 100, null)], dropped: 3, next: { end: 64, tie: 7, start: 0, freed: 0 } })
  await file.replace(next)
  const second = await file.read()
  t.deepEqual([second.metadata, second.isHeld], [next, true])
  t.notEqual(second.version, first.version)
})

test('what is published is read, and nothing else changes', async (t) => {
  const file = await fileIn(t)
  await file.replace(await metadataWith())
  const before = await file.read()
  for (const published of [201, 65536, 2 ** 40 + 1, Number.MAX_SAFE_INTEGER]) {
    file.publish(published)
    t.deepEqual(await file.read(), { ...before, published }, String(published))
  }
})

test('what is published is written once more if that fails', async (t) => {
  const { writeSync } = fs
  t.teardown(() => { fs.writeSync = writeSync })
  for (const isShort of [false, true]) {
    const file = await fileIn(t)
    await file.replace(await metadataWith())
    let writes = 0
    fs.writeSync = (fd, bytes, from, size, offset) => {
      if (++writes > 1) return writeSync(fd, bytes, from, size, offset)
      if (!isShort) throw failed()
      return writeSync(fd, bytes, from, 3, offset)
    }
    file.publish(201)
    fs.writeSync = writeSync
    t.equal((await file.read()).published, 201, isShort ? 'in part' : 'with an error')
  }
})

test('members of an entry replace those before it; deletions are added, and dropped by their number', async (t) => {
  const file = await fileIn(t)
  await file.replace(await metadataWith({ deletions: [deletion(1)] }))
  const versions = [(await file.read()).version]
  const said = async () => {
    const found = await file.read()
    t.deepEqual(found.metadata, file.metadata, 'what is read is what its writer knows')
    versions.push(found.version)
    return found.metadata
  }
  file.append({ deletions: [deletion(2), deletion(3)] })
  t.deepEqual((await said()).deletions.map(({ number }) => number), [1, 2, 3])
  file.append({ end: 500, tie: 9, freed: 64, dropped: 2 })
  const { end, tie, freed, deletions } = await said()
  t.deepEqual([end, tie, freed, deletions.map(({ number }) => number)], [500, 9, 64, [3]])
  file.append({ closed: true })
  t.equal((await said()).closed, true)
  t.equal(new Set(versions).size, 3, 'readers of blocks need not know of a recovery point that has moved')
})

test('entries count up to the first that was not written whole; one that was, and has changed since, is corrupt', async (t) => {
  const file = await fileIn(t)
  await file.replace(await metadataWith())
  const ends = [file.size]
  for (const number of [1, 2, 3]) {
    file.append({ deletions: [deletion(number)] })
    ends.push(file.size)
  }
  const whole = fs.readFileSync(file.filename)
  const count = async (bytes) => {
    fs.writeFileSync(file.filename, bytes)
    return (await readAgain(t, file).catch(err => err.code))?.metadata?.deletions.length
  }
  const step = thorough ? 1 : 3
  for (let length = ends[0]; length <= ends[3]; length += step) {
    if (await count(whole.subarray(0, length)) !== ends.slice(1).filter(end => end <= length).length) t.fail(`cut to ${length} bytes`)
  }
  for (let at = ends[1]; at < ends[2]; at += step) {
    const torn = Buffer.from(whole)
    if (await count(torn.fill(0, at, ends[2])) !== 1 || await count(torn.fill(0, ends[1], at)) !== 1) t.fail(`zeros from ${at} on, or up to there`)
  }
  const starts = [PUBLISHED_SIZE, ...ends]
  // and each newline
  for (const at of new Set([...range(PUBLISHED_SIZE, ends[3], step), ...ends.map(end => end - 1)])) {
    const flipped = Buffer.from(whole)
    flipped[at] ^= 1
    fs.writeFileSync(file.filename, flipped)
    const { code, offset } = await readAgain(t, file).catch(err => err)
    if (code !== 'flumelog:corrupt' || offset !== starts.findLast(start => start <= at)) return t.fail(`${code} in the line at ${offset} with another byte at ${at}`)
  }
  t.pass('cut or zeros anywhere, or any byte changed')
})

test('what a power cut has left behind the entries that count is no part of those that are appended later', async (t) => {
  const folder = testFolder(t)
  const record = tailOf([Buffer.alloc(10, 1)])
  const entry = formatEntry({ deletions: [deletion(1)] })
  for (const closed of [false, true]) {
    const text = formatMetadata(await metadataOf(record, { blockSize: 64, closed }), 0)
    /** Opens the log beside a FILE.meta that ends with this, and appends to it. */
    const deletionsAfter = async (name, rest) => {
      fs.writeFileSync(folder(name), record)
      fs.writeFileSync(folder(name + '.meta'), Buffer.concat([Buffer.from(text), rest]))
      const log = promises(FlumeLog(folder(name)))
      await log.append('a')
      t.equal((await verify(folder(name))).counts.records, 2, 'others see both records')
      await log.close()
      return parseMetadata(fs.readFileSync(folder(name + '.meta'), 'latin1')).metadata.deletions
    }
    // of the length of what is missing, whatever the next writer appends
    for (let missing = 50; missing < 400; missing += thorough ? 1 : 5) {
      const lost = await deletionsAfter(`lost ${missing} ${closed}`, Buffer.concat([Buffer.alloc(missing), Buffer.from(entry)]))
      const torn = await deletionsAfter(`torn ${missing} ${closed}`, Buffer.concat([Buffer.alloc(missing), Buffer.from('"start":0}\n'), Buffer.from(entry)]))
      if (lost.length + torn.length > 0) return t.fail(`${missing} bytes in front of it`)
    }
  }
  t.pass('so it is')
})

test('an entry of which a part was written does not count, and the file is replaced before the next', { skip: process.platform === 'win32' }, async (t) => {
  const file = await fileIn(t)
  await file.replace(await metadataWith())
  const { writeSync } = fs
  let writes = 0
  fs.writeSync = (fd, bytes, from, size, offset) => {
    if (writes++ > 0) throw Object.assign(new Error('ENOSPC: made to fail'), { code: 'ENOSPC' })
    return writeSync(fd, bytes, from, 20, offset)
  }
  let failure
  try {
    file.append({ deletions: [deletion(1)] })
  } catch (err) {
    failure = err
  } finally {
    fs.writeSync = writeSync
  }
  t.deepEqual([failure.code, failure.path], ['ENOSPC', file.filename])
  t.ok(file.mustReplace)
  t.deepEqual((await file.read()).metadata.deletions, [])
  const bytes = fs.readFileSync(file.filename)
  t.throws(() => file.append({ deletions: [deletion(2)] }), /ENOSPC/, 'a power cut could leave the beginning of the one, and the end of the other')
  t.ok(fs.readFileSync(file.filename).equals(bytes))
  await file.replace(file.metadata)
  t.notOk(file.mustReplace)
  file.append({ deletions: [deletion(2)] })
  t.deepEqual((await file.read()).metadata.deletions, [deletion(2)])
})

test('what is appended and published while a snapshot replaces the file is in both', async (t) => {
  const file = await fileIn(t)
  await file.replace(await metadataWith())
  const { renameSync } = fs
  t.teardown(() => { fs.renameSync = renameSync })
  let before
  fs.renameSync = (from, to) => {
    before = fs.readFileSync(to)
    renameSync(from, to)
  }
  const replaced = file.replace(await metadataWith({ dropped: 4 }))
  await new Promise(resolve => setImmediate(resolve))
  file.append({ deletions: [deletion(5)] })
  file.publish(999)
  await replaced
  const after = await file.read()
  t.deepEqual([after.metadata.deletions, after.metadata.dropped, after.published], [[deletion(5)], 4, 999])
  t.deepEqual(after.metadata, file.metadata)
  fs.writeFileSync(file.filename, before)
  const old = await readAgain(t, file)
  t.deepEqual([old.metadata.deletions, old.metadata.dropped, old.published], [[deletion(5)], 0, 999], 'a power cut may bring that back')
})

test('a snapshot that fails leaves the file as it is, with what is appended meanwhile, and nothing beside it', async (t) => {
  const { renameSync } = fs
  for (const call of ['fdatasync', 'renameSync']) {
    const file = await fileIn(t)
    await file.replace(await metadataWith())
    hooks.fdatasync = (fd, cb) => {
      file.append({ deletions: [deletion(1)] })
      if (call === 'fdatasync') process.nextTick(cb, failed())
      else fdatasync(fd, cb)
    }
    if (call === 'renameSync') fs.renameSync = () => { throw failed() }
    t.equal(await file.replace(await metadataWith({ dropped: 7 })).catch(err => err.code), 'EIO', call)
    hooks.fdatasync = null
    fs.renameSync = renameSync
    const { metadata } = await file.read()
    t.deepEqual([metadata.dropped, metadata.deletions], [0, [deletion(1)]])
    t.deepEqual(file.metadata, metadata)
    t.deepEqual(fs.readdirSync(file.inFolder('.')).sort(), ['log', 'log.meta'])
  }
})

test('sync makes durable what was appended before, and the name of a file that was replaced', async (t) => {
  const file = await fileIn(t)
  t.teardown(() => { hooks.fdatasync = null })
  const synced = []
  hooks.fdatasync = (fd, cb) => {
    synced.push(fs.fstatSync(fd).ino)
    fdatasync(fd, cb)
  }
  await file.replace(await metadataWith())
  const { ino } = fs.statSync(file.filename)
  t.deepEqual([synced.splice(0), file.isNameUnsynced], [[ino], false], 'so does replacing')
  file.append({ deletions: [deletion(1)] })
  await file.sync()
  t.deepEqual(synced, [ino])
  hooks.fdatasync = (_, cb) => process.nextTick(cb, failed())
  t.equal(await file.sync().catch(err => err.code), 'EIO')
  t.ok(file.mustReplace, 'after an fsync that has failed, only another file can be made durable')
})

test('an entry in a file that is opened again follows those that are there', async (t) => {
  const first = await fileIn(t)
  await first.replace(await metadataWith())
  first.append({ deletions: [deletion(1)], closed: true })
  first.release()
  t.equal((await first.read()).isHeld, false, 'once it is released, the file stays, and is not held')
  const file = await reopen(t, first)
  t.equal(await file.lock(300), true)
  t.deepEqual([(await file.read()).isHeld, (await file.read()).published], [true, 300])
  file.append({ closed: false, deletions: [deletion(2)] })
  const { metadata } = await file.read()
  t.deepEqual([metadata.closed, metadata.deletions], [false, [deletion(1), deletion(2)]])
  file.release()
  file.publish(400)
  t.equal((await file.read()).published, 300, 'nothing is published any more')
})

test('a file of many entries is read whole, and should be replaced', async (t) => {
  const file = await fileIn(t)
  await file.replace(await metadataWith())
  const numbers = []
  for (let number = 1; !file.isLong; number++) {
    file.append({ deletions: [deletion(number)] })
    numbers.push(number)
    // around the size up to which one read is enough
    if (file.size < 2 * PAGE_SIZE || file.isLong) t.deepEqual((await file.read()).metadata.deletions.length, number)
  }
  t.deepEqual((await file.read()).metadata.deletions.map(({ number }) => number), numbers)
  await file.replace({ ...file.metadata, deletions: [] })
  t.notOk(file.isLong)
})

test('on a full disk, urgent entries have the room that others leave', { skip: noSmallDisk === null ? false : `no small disk: ${noSmallDisk}` }, async (t) => {
  const disk = smallDisk(t)
  const file = await fileIn(t, { folder: disk.file })
  await file.replace(await metadataWith())
  disk.leave(0)
  const append = (isUrgent) => {
    let count = 0
    try {
      for (;; count++) file.append({ deletions: [deletion(count + 1)] }, isUrgent)
    } catch (err) {
      if (err.code !== 'ENOSPC') throw err
    }
    return count
  }
  const usual = append(false)
  t.ok(usual > 5, `${usual} entries`)
  const urgent = append(true)
  t.ok(urgent > 5, `and ${urgent} urgent ones`)
  t.equal((await file.read()).metadata.deletions.length, usual + urgent)
})

test('it is held by another process while that lives, whatever it replaces, and not after SIGKILL', async (t) => {
  const file = await fileIn(t)
  const process = await holder(t, file)
  await process.message(written)
  t.equal((await file.read()).isHeld, true)
  process.send({ publish: 4096 })
  await process.message(({ what }) => what === 'published')
  t.equal((await file.read()).published, 4096, 'what it publishes is seen')
  process.send({ replace: await metadataWith({ dropped: 5 }) })
  await process.message(message => written(message) && process.messages.indexOf(message) > 1)
  const { isHeld, published, metadata } = await file.read()
  t.deepEqual({ isHeld, published, dropped: metadata.dropped }, { isHeld: true, published: 4096, dropped: 5 })
  await process.kill()
  const left = await file.read()
  t.deepEqual([left.metadata, left.isHeld], [metadata, false])
})

test('a reader never sees a live writer as dead, or half an offset, while it publishes and replaces the file', async (t) => {
  const file = await fileIn(t)
  const process = await holder(t, file)
  await process.message(written)
  const wrong = []
  let reads = 0
  for (let round = 0; round < 8; round++) {
    process.send({ publishMany: 3000 })
    process.send({ replace: await metadataWith() })
    const seen = () => process.messages.filter(written).length > round + 1
    while (!seen()) {
      await new Promise(resolve => setImmediate(resolve))
      const found = await file.read()
      reads++
      if (!(found?.isHeld && /^(\d)\1{14}$|^0$/.test(String(found.published)))) wrong.push(found)
    }
  }
  t.deepEqual(wrong, [], `of ${reads} reads`)
})

test('what a reader finds acknowledged never goes back while the file is replaced', async (t) => {
  const file = await fileIn(t)
  const metadata = await metadataWith()
  let acknowledged = 1
  file.publish(acknowledged)
  await file.replace(metadata)
  const state = { isWriting: true }
  const publishing = function publish () {
    if (state.isWriting) setImmediate(publish)
    file.publish(++acknowledged)
  }
  publishing()
  const backward = []
  let last = 0
  const reading = (async () => {
    while (state.isWriting) {
      await new Promise(resolve => setImmediate(resolve))
      const { published } = await file.read()
      if (published < last) backward.push([last, published])
      last = published
    }
  })()
  for (let i = 0; i < 40; i++) await file.replace(metadata)
  state.isWriting = false
  await reading
  t.deepEqual(backward, [])
})

// elsewhere the package that the test replaces is not used
test('an offset that was read half-written is read again', { skip: !isNode }, async (t) => {
  const file = await fileIn(t)
  file.publish(200)
  await file.replace(await metadataWith())
  const whole = fs.readFileSync(file.filename)
  const overwrite = (bytes) => {
    const fd = fs.openSync(file.filename, 'r+')
    fs.writeSync(fd, bytes, 0, bytes.length, 0)
    fs.closeSync(fd)
  }
  const half = Buffer.from(whole)
  half.write('9', PUBLISHED_SIZE - 2)
  overwrite(half)
  const { tryLock } = locking
  t.teardown(() => { locking.tryLock = tryLock })
  let reads = 0
  // called after each read, to know whether the writer is alive
  locking.tryLock = (...args) => {
    if (++reads === 2) overwrite(whole)
    return tryLock(...args)
  }
  t.equal((await file.read()).published, 200)
  t.equal(reads, 2, 'until it is whole: then its writer is alive')
  overwrite(half)
  t.equal((await file.read()).published, null, 'or, if it stays as it is, not known')
})

test('it gets the mode of the log, whatever the umask', async (t) => {
  const before = process.umask(0o077)
  t.teardown(() => process.umask(before))
  for (const mode of [0o644, 0o664, 0o600, 0o640]) {
    const file = await fileIn(t, { mode })
    await file.replace(await metadataWith())
    t.equal(fs.statSync(file.filename).mode & 0o777, mode, mode.toString(8))
    process.umask(0)
    await file.replace(await metadataWith())
    t.equal(fs.statSync(file.filename).mode & 0o777, mode, `${mode.toString(8)}, when it is replaced`)
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
  t.equal(fs.statSync(file + '.meta').mode & 0o777, 0o644)
  await log.close()
})

test('it gets the owner of the log from a writer that may give files away', { skip: process.getuid?.() !== 0 }, async (t) => {
  const file = await fileIn(t)
  fs.chownSync(file.inFolder('log'), 12345, 23456)
  await file.replace(await metadataWith())
  const { uid, gid } = fs.statSync(file.filename)
  t.deepEqual({ uid, gid }, { uid: 12345, gid: 23456 })
})

test('its errors name it, not the log', async (t) => {
  const file = await fileIn(t)
  fs.mkdirSync(file.filename)
  for (const failed of [await file.read().catch(err => err), await file.replace(await metadataWith()).catch(err => err)]) {
    t.ok(failed instanceof Error && failed.message.includes(file.filename), failed.message)
    t.ok(failed.path.startsWith(file.filename), failed.path)
  }
  t.deepEqual(fs.readdirSync(file.inFolder('.')).sort(), ['log', 'log.meta'], 'and nothing else is left')
})

test('what a writer has left of a new one that was killed is removed when the log is opened', async (t) => {
  const file = testFolder(t)('log')
  fs.writeFileSync(file + '.meta.new', 'half of it')
  const log = promises(FlumeLog(file))
  await log.onReady()
  t.notOk(fs.existsSync(file + '.meta.new'))
  await log.close()
})

test('without the package that locks files it is read and published, but never held', async (t) => {
  const file = await fileIn(t)
  const process = await holder(t, file, { preload: WITHOUT_NATIVE_PART })
  await process.message(written)
  process.send({ publish: 4096 })
  await process.message(({ what }) => what === 'published')
  const { published, isHeld } = await file.read()
  t.deepEqual([published, isHeld], [4096, false])
})
