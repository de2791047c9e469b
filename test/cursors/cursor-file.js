'use strict'

// The file of a cursor: after a crash at any moment, or with the file cut or damaged anywhere, the cursor is where it was or
// where it was to be, or its file is known to be corrupt. A full disk, and failing calls.

const tape = require('tape')
const fs = require('fs')
const path = require('path')

/** What is called instead of fdatasync, with it. */
let fdatasync = (call, ...args) => call(...args)
const original = fs.fdatasync
// before the library, which keeps it
fs.fdatasync = (...args) => fdatasync(original, ...args)

const { open } = require('../../promises')
const { LINE_SIZE, decodeLines, encodeLine } = require('../../lib/cursors/cursor-text')
const { testFolder } = require('../helpers/folder')
const { noSmallDisk, smallDisk } = require('../helpers/full')
const { codeOf, collect } = require('../helpers/reading')

const line = (seq, number) => encodeLine({ name: 'mailer', id: '0', seq, tie: 7, number })
const seqIn = (bytes) => decodeLines(bytes)?.line.seq

async function logWithRecords (file, options) {
  const log = await open(file, options)
  await log.append(['first', 'second', 'third', 'fourth', 'fifth'])
  const seqs = await collect(log.flumelog, { values: false })
  return { log, seqs }
}

/** Replaces fdatasync until it is put back. */
function replaceSync (replacement) {
  const before = fdatasync
  fdatasync = replacement
  return () => { fdatasync = before }
}

/** Replaces writes of a cursor's line until they are put back. */
function replaceWrite (replacement) {
  const { writeSync } = fs
  fs.writeSync = (fd, data, ...rest) => (data.length === LINE_SIZE ? replacement : call => call(fd, data, ...rest))(writeSync, fd, data, ...rest)
  return () => { fs.writeSync = writeSync }
}

tape('the file cut anywhere has the newer position, the older one, or none that is valid', (t) => {
  const bytes = Buffer.concat([line(100, 4), line(200, 5)])
  t.equal(seqIn(bytes), 200)
  t.equal(seqIn(Buffer.concat([line(100, 6), line(200, 5)])), 100, 'the order of the lines does not matter')
  const found = new Set()
  for (let size = 0; size <= bytes.length; size++) {
    const seq = seqIn(bytes.subarray(0, size))
    found.add(seq)
    // without its newline, a line is whole
    if (seq !== (size >= 2 * LINE_SIZE - 1 ? 200 : size >= LINE_SIZE - 1 ? 100 : undefined)) t.fail(`${size} bytes: ${seq}`)
  }
  t.deepEqual([...found], [undefined, 100, 200])
  t.end()
})

tape('a line that is overwritten in part, or damaged in any byte, does not count', (t) => {
  const [older, newer, next] = [line(100, 4), line(200, 5), line(300, 6)]
  for (let size = 0; size <= LINE_SIZE; size++) {
    const torn = Buffer.concat([next.subarray(0, size), older.subarray(size), newer])
    const seq = seqIn(torn)
    if (seq !== 200 && seq !== 300) t.fail(`${size} bytes of the next line: ${seq}`)
  }
  for (let i = 0; i < 2 * LINE_SIZE; i++) {
    const damaged = Buffer.concat([older, newer])
    damaged[i] ^= 1
    const seq = seqIn(damaged)
    // the newline of the second line says nothing
    if (seq !== (i < LINE_SIZE || i === 2 * LINE_SIZE - 1 ? 200 : 100)) t.fail(`byte ${i}: ${seq}`)
  }
  t.equal(seqIn(Buffer.alloc(2 * LINE_SIZE)), undefined)
  t.equal(seqIn(Buffer.alloc(0)), undefined)
  t.end()
})

tape('a cursor whose file is corrupt gives flumelog:corrupt, and nobody starts again by mistake', async (t) => {
  const name = testFolder(t)
  const { log, seqs } = await logWithRecords(name('log'))
  await log.cursor('mailer').commit(seqs[2])
  await log.close()
  const file = name('log.cursor-mailer')
  const whole = fs.readFileSync(file)
  for (const size of [0, 1, 20, LINE_SIZE - 2]) {
    fs.writeFileSync(file, whole.subarray(0, size))
    const again = await open(name('log'))
    const cursor = again.cursor('mailer')
    t.equal(await codeOf(cursor.ready()), 'flumelog:corrupt', `${size} bytes`)
    t.equal(await codeOf(cursor.commit(seqs[3])), 'flumelog:corrupt')
    t.deepEqual(await again.cursors(), [{ name: 'mailer', seq: null, held: false }])
    await again.close()
    t.equal(fs.statSync(file).size, size, 'the file is left as it is')
  }
  fs.writeFileSync(file, whole)
  const again = await open(name('log'))
  t.equal(await again.cursor('mailer').ready(), seqs[2])
  await again.close()
})

tape('what a process has left that was killed while it created a cursor is no cursor, and in nobody\'s way', async (t) => {
  const name = testFolder(t)
  const { log, seqs } = await logWithRecords(name('log'))
  fs.writeFileSync(name('log.cursor-mailer.new'), line(200, 5).subarray(0, 100))
  t.deepEqual(await log.cursors(), [])
  t.equal(await log.cursor('mailer').ready(), -1)
  await log.cursor('mailer').commit(seqs[1])
  await log.close()
  t.deepEqual(fs.readdirSync(name('.')).filter(file => file.includes('cursor')), ['log.cursor-mailer'])
})

tape('the line that is durable stays as it is until the other one is, too', async (t) => {
  const name = testFolder(t)
  const { log, seqs } = await logWithRecords(name('log'), { sync: 'never' })
  const cursor = log.cursor('mailer')
  const lines = () => {
    const bytes = fs.readFileSync(name('log.cursor-mailer'))
    return [0, 1].map(i => seqIn(bytes.subarray(i * LINE_SIZE, (i + 1) * LINE_SIZE)))
  }
  await cursor.ready()
  t.deepEqual(lines(), [-1, -1])
  for (const seq of seqs.slice(0, 3)) {
    await cursor.commit(seq)
    t.deepEqual(lines(), [seq, -1], 'without an fsync, it is the same line that is written')
  }
  await cursor.commit(seqs[2], { sync: true })
  await cursor.commit(seqs[3])
  t.deepEqual(lines(), [seqs[2], seqs[3]])
  await cursor.commit(seqs[4])
  t.deepEqual(lines(), [seqs[2], seqs[4]])
  await log.close()
})

tape('a commit makes the log durable up to its record first, whatever the log is opened with', async (t) => {
  for (const options of [{ sync: 'never' }, { sync: 'interval', syncInterval: 100000 }, { sync: 'always' }]) {
    const name = testFolder(t)
    const { log, seqs } = await logWithRecords(name('log'), options)
    const reader = await open(name('log'), { readOnly: true })
    await Promise.all([log.cursor('one').ready(), reader.cursor('two').ready()])
    const calls = []
    const putBack = [
      replaceSync((call, fd, cb) => call(fd, (err) => {
        calls.push('fsync')
        cb(err)
      })),
      replaceWrite((call, ...args) => {
        calls.push('commit')
        return call(...args)
      })
    ]
    await log.cursor('one').commit(seqs[1])
    await log.cursor('one').commit(seqs[2])
    const expected = { never: ['fsync', 'commit', 'commit'], interval: ['fsync', 'commit', 'commit'], always: ['commit', 'fsync', 'commit', 'fsync'] }[options.sync]
    t.deepEqual(calls.splice(0), expected, `sync: ${options.sync}`)
    await reader.cursor('two').commit(seqs[1])
    await reader.cursor('two').commit(seqs[4])
    t.deepEqual(calls.splice(0).slice(0, 2), ['fsync', 'commit'], 'also beside the process that writes the log')
    for (const call of putBack) call()
    await reader.close()
    await log.close()
  }
})

tape('the name of a cursor is made durable by the next one who opens it, if it was not when the cursor was created', async (t) => {
  const name = testFolder(t)
  const { log } = await logWithRecords(name('log'))
  const folder = fs.realpathSync(path.dirname(name('log')))
  const { open: openFile } = fs.promises
  let fails = true
  const syncs = []
  fs.promises.open = async (file, ...args) => {
    const handle = await openFile.call(fs.promises, file, ...args)
    if (file !== folder) return handle
    const { sync } = handle
    handle.sync = async () => {
      if (fails) throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' })
      await sync.call(handle)
      syncs.push(file)
    }
    return handle
  }
  t.equal(await codeOf(log.cursor('mailer').ready()), 'EIO')
  fails = false
  await log.cursor('mailer').ready()
  t.equal(syncs.length, 1)
  fs.promises.open = openFile
  await log.close()
})

tape('a commit whose write or fsync fails gets the error, and the next one works', async (t) => {
  const name = testFolder(t)
  const { log, seqs } = await logWithRecords(name('log'), { sync: 'always' })
  const cursor = log.cursor('mailer')
  await cursor.commit(seqs[0])
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  let putBack = replaceWrite((call, fd, data, offset, length, position) => {
    // a part of it is there
    call(fd, data, offset, 50, position)
    throw full
  })
  t.equal(await codeOf(cursor.commit(seqs[1])), 'ENOSPC')
  t.equal(cursor.seq, seqs[0])
  putBack()
  t.equal(seqIn(fs.readFileSync(name('log.cursor-mailer'))), seqs[0], 'the one before is still there')
  await cursor.commit(seqs[1])

  putBack = replaceSync((call, fd, cb) => process.nextTick(cb, Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' })))
  const err = await cursor.commit(seqs[2]).catch(err => err)
  t.deepEqual([err.code, path.basename(err.path)], ['EIO', 'log.cursor-mailer'])
  putBack()
  await cursor.commit(seqs[2])
  await cursor.commit(seqs[3])
  await log.close()
  const again = await open(name('log'))
  t.equal(await again.cursor('mailer').ready(), seqs[3])
  await again.close()
})

tape('a line that a failed write has left in part is written again before it counts as durable', async (t) => {
  const name = testFolder(t)
  const { log, seqs } = await logWithRecords(name('log'), { sync: 'never' })
  const cursor = log.cursor('mailer')
  await cursor.commit(seqs[0])
  const putBack = replaceWrite((call, fd, data, offset, length, position) => call(fd, data, offset, 50, position))
  t.equal(await codeOf(cursor.commit(seqs[1])), 'ENOSPC', 'a write of a part is a full disk')
  putBack()
  await log.close()
  const again = await open(name('log'))
  t.equal(await again.cursor('mailer').ready(), seqs[0])
  await again.close()
})

tape('no commit is stored of a record that cannot be made durable', async (t) => {
  const name = testFolder(t)
  const { log, seqs } = await logWithRecords(name('log'), { sync: 'never' })
  const cursor = log.cursor('mailer')
  await cursor.ready()
  const putBack = replaceSync((call, fd, cb) => process.nextTick(cb, Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' })))
  t.equal(await codeOf(cursor.commit(seqs[1])), 'flumelog:failed')
  putBack()
  t.equal(cursor.seq, -1)
  t.equal(seqIn(fs.readFileSync(name('log.cursor-mailer'))), -1)
  t.equal(await codeOf(log.close()), 'flumelog:failed')
})

tape('on a full disk a new cursor is refused, and one that is there takes commits', { skip: noSmallDisk === null ? false : `no small disk: ${noSmallDisk}` }, async (t) => {
  const disk = smallDisk(t)
  const { log, seqs } = await logWithRecords(disk.file('log'))
  const cursor = log.cursor('mailer')
  await cursor.commit(seqs[0], { sync: true })
  disk.leave(0)
  t.equal(await codeOf(log.cursor('indexer').ready()), 'ENOSPC')
  t.deepEqual((await log.cursors()).map(({ name }) => name), ['mailer'])
  t.notOk(fs.existsSync(disk.file('log.cursor-indexer.new')))
  for (const seq of seqs.slice(1)) await cursor.commit(seq, { sync: true })
  t.equal(seqIn(fs.readFileSync(disk.file('log.cursor-mailer'))), seqs[4])
  disk.makeRoom()
  t.equal(await log.cursor('indexer').ready(), -1)
  await log.close()
})

tape('a cursor\'s file has the mode of the log', async (t) => {
  const name = testFolder(t)
  const { log } = await logWithRecords(name('log'))
  fs.chmodSync(name('log'), 0o640)
  await log.cursor('mailer').ready()
  t.equal(fs.statSync(name('log.cursor-mailer')).mode & 0o777, 0o640)
  await log.close()
})

tape('names that differ only in case are told apart, or refused where the file system does not', async (t) => {
  const name = testFolder(t)
  const { log, seqs } = await logWithRecords(name('log'))
  await log.cursor('Mailer').commit(seqs[1])
  await log.cursor('Mailer').close()
  // what such a file system would make of it
  fs.renameSync(name('log.cursor-Mailer'), name('log.cursor-mailer'))
  const err = await log.cursor('mailer').ready().catch(err => err)
  t.equal(err.code, 'flumelog:invalid')
  t.match(err.message, /belongs to the cursor 'Mailer'/)
  fs.renameSync(name('log.cursor-mailer'), name('log.cursor-copied'))
  t.equal(await log.cursor('copied').ready(), seqs[1], 'a copy is a cursor of its own')
  await log.close()
})
