'use strict'

// Opening and closing: valid and invalid arguments, errors on opening, and the effects of
// closing.

const fs = require('fs')
const path = require('path')
const { execFile } = require('child_process')
const test = require('tape')
const FlumeLog = require('../..')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { pathFile } = require('../../lib/storage/path-file')
const { promises } = require('../helpers/promises')
const { newFile, testFolder } = require('../helpers/folder')
const { ControlledFile } = require('../helpers/controlled-file')
const { sealedBlock, tailOf, dataOf } = require('../helpers/bytes')
const { collect, codeOf, event } = require('../helpers/reading')

const IS_ROOT = process.getuid?.() === 0
const NOBODY = 65534

/** All calls of a log, as promises, by name. */
function allCalls (log) {
  const calls = promises(log)
  return {
    append: () => calls.append('x'),
    'append of a batch': () => calls.append(['x', 'y']),
    'append with sync': () => calls.append('x', { sync: true }),
    get: () => calls.get(0),
    getPrevious: () => calls.getPrevious(0),
    del: () => calls.del(0),
    stream: () => collect(log),
    'stream, live': () => collect(log, { live: true }),
    scan: () => new Promise((resolve, reject) => log.scan({}, () => {}, err => err ? reject(err) : resolve())),
    search: () => calls.search(() => 0),
    onReady: () => calls.onReady(),
    onDrain: () => calls.onDrain(),
    sync: () => calls.sync()
  }
}

/** Makes every call, before the log is open and again later; all must fail with this code. */
async function everyCallFails (t, log, code) {
  for (const when of ['at once', 'later']) {
    const calls = Object.entries(allCalls(log)).map(([name, call]) => [name, codeOf(call())])
    const other = []
    for (const [name, found] of calls) if (await found !== code) other.push(`${name}: ${await found}`)
    t.deepEqual(other, [], `all calls made ${when} end with ${code}`)
  }
  t.equal(log.since.value, undefined)
  t.equal(await codeOf(promises(log).close()), 'no error, but undefined', 'close has nothing to do')
  t.equal(await codeOf(promises(log).close()), 'no error, but undefined', 'nor when called again')
  t.equal(typeof log.stats().size, 'number')
}

test('opening anything other than a path throws immediately', (t) => {
  for (const file of [undefined, null, '', 'a\0b', 5, true, {}, [], () => {}, Buffer.from('x'), new URL('file:///tmp/x'), { read () {}, stat () {} }, Symbol('x')]) {
    let thrown = null
    try {
      FlumeLog(file)
    } catch (err) {
      thrown = err
    }
    t.equal(thrown?.code, 'flumelog:invalid', typeof file)
    t.match(thrown?.message ?? '', /^file must be the path of a file; it is /)
  }
  t.end()
})

test('invalid options throw immediately, with a message that names the option and its value', (t) => {
  const wrong = {
    blockSize: [0, 1, 31, 65537, -64, 64.5, NaN, Infinity, '64', true, {}, 64n],
    block: [0, 31, 65537, '64', NaN],
    codec: [5, 'yaml', true, {}, { encode () {} }, { decode () {} }, () => {}],
    validate: [5, 'x', {}, true],
    cacheSize: [-1, 0.5, NaN, Infinity, '5', true],
    sync: ['sometimes', 5, true, {}],
    syncInterval: [-1, 0.5, NaN, '5', 2 ** 31],
    syncBytes: [0, -1, 0.5, NaN, '5'],
    checksum: [0, 1, 'yes', {}],
    lock: [0, 'yes', {}],
    readOnly: [0, 1, 'yes', {}]
  }
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      let thrown = null
      try {
        FlumeLog(newFile(), { [name]: value })
      } catch (err) {
        thrown = err
      }
      t.equal(thrown?.code, 'flumelog:invalid', `${name}: ${typeof value} ${String(value)}`)
      t.ok(thrown?.message.includes(name === 'block' ? 'blockSize' : name), thrown?.message)
    }
  }
  t.throws(() => FlumeLog(newFile(), { lock: 'require' }), { message: "lock must be true, false or 'required'; it is 'require'" })
  t.throws(() => FlumeLog(newFile(), { blockSize: 64, block: 128 }), { code: 'flumelog:invalid' }, 'two names of one option that differ')
  for (const options of [5, 'x', true, null]) {
    try {
      FlumeLog(newFile(), options)
      t.fail(`${options} was taken`)
    } catch (err) {
      t.equal(err.code, 'flumelog:invalid')
    }
  }
  t.end()
})

test('undefined options count as not given', async (t) => {
  const log = promises(FlumeLog(newFile(), {
    blockSize: undefined, block: undefined, codec: undefined, validate: undefined, cacheSize: undefined, sync: undefined, syncInterval: undefined, syncBytes: undefined, checksum: undefined, lock: undefined, readOnly: undefined, another: undefined
  }))
  t.equal(await log.append('x'), 0)
  t.equal(log.log.blockSize, 65536)
  await log.close()
})

test('a log has its filename, block size and codec as members', async (t) => {
  const file = testFolder(t)
  const codec = { encode: String, decode: Number, buffer: false }
  const log = FlumeLog(file('log'), { blockSize: 100, codec })
  t.equal(log.filename, file('log'))
  t.equal(log.blockSize, 100)
  t.equal(log.codec, codec)
  await promises(log).close()
})

test('every call fails if the path is below a file', async (t) => {
  const file = testFolder(t)
  fs.writeFileSync(file('a'), 'text')
  const below = path.join(file('a'), 'log')
  const log = FlumeLog(below)
  const err = await promises(log).onReady().catch(err => err)
  t.ok(['ENOTDIR', 'EEXIST'].includes(err.code), err.code)
  await everyCallFails(t, log, err.code)
  await everyCallFails(t, FlumeLog(below, { readOnly: true }), 'ENOTDIR')
  t.deepEqual(fs.readdirSync(file('.')), ['a'])
})

test('every call fails if the path is a directory', async (t) => {
  const file = testFolder(t)
  await everyCallFails(t, FlumeLog(file('.')), 'EISDIR')
  await everyCallFails(t, FlumeLog(file('.'), { readOnly: true }), 'flumelog:invalid')
  t.deepEqual(fs.readdirSync(file('.')), [])
})

test('a device is not a log', async (t) => {
  await everyCallFails(t, FlumeLog('/dev/null'), 'flumelog:invalid')
})

test('every call fails if the name is too long', async (t) => {
  const file = testFolder(t)
  await everyCallFails(t, FlumeLog(file('x'.repeat(300))), 'ENAMETOOLONG')
})

test('every call fails if the file is not readable', async (t) => {
  const file = testFolder(t)
  fs.writeFileSync(file('log'), '')
  fs.chmodSync(file('log'), 0o000)
  if (IS_ROOT) process.seteuid(NOBODY) // root can read everything
  try {
    await everyCallFails(t, FlumeLog(file('log')), 'EACCES')
    await everyCallFails(t, FlumeLog(file('log'), { readOnly: true }), 'EACCES')
  } finally {
    if (IS_ROOT) process.seteuid(0)
  }
})

test('a missing file is created, but not with readOnly', async (t) => {
  const file = testFolder(t)
  await everyCallFails(t, FlumeLog(file('log'), { readOnly: true }), 'ENOENT')
  await everyCallFails(t, FlumeLog(file('folder/log'), { readOnly: true }), 'ENOENT')
  t.deepEqual(fs.readdirSync(file('.')), [])
  const log = promises(FlumeLog(file('folder/log')))
  await log.onReady()
  t.equal(fs.statSync(file('folder/log')).size, 0)
  await log.close()
  t.deepEqual(fs.readdirSync(file('folder')), ['log'])
})

test('every call fails with the error of a file that cannot be opened or read', async (t) => {
  for (const what of ['open', 'size', 'read']) {
    const settings = settingsOf({})
    const file = pathFile(newFile(tailOf([dataOf(50)])), settings)
    file.io[what] = async () => { throw Object.assign(new Error('no'), { code: 'EIO' }) }
    await everyCallFails(t, createLog(file, settings), 'EIO')
  }
})

test('a file without a whole record is refused, and left as it is', async (t) => {
  const file = testFolder(t)
  for (const text of ['a', 'not a log\n'.repeat(20), 'not a log\n'.repeat(10000), '\0'.repeat(1000)]) {
    fs.writeFileSync(file('notes'), text)
    for (const options of [{}, { readOnly: true }, { codec: { encode: JSON.stringify, decode: JSON.parse } }, { blockSize: 64 }]) {
      await everyCallFails(t, FlumeLog(file('notes'), options), 'flumelog:not-a-log')
    }
    t.equal(fs.readFileSync(file('notes'), 'utf8'), text)
    t.deepEqual(fs.readdirSync(file('.')), ['notes'])
  }
})

test('a log that ends with a full block is readable, and appends start the next block', async (t) => {
  for (const checksum of [true, false]) {
    for (const blocks of [1, 2, 5]) {
      const full = sealedBlock(64, [dataOf(20, 1), dataOf(20, 2)], { checksum })
      const log = promises(FlumeLog(newFile(Buffer.concat(new Array(blocks).fill(full)))))
      await log.onReady()
      t.equal(log.log.since.value, 64 * (blocks - 1) + 24)
      t.deepEqual(log.log.stats().cut, null)
      const seqs = Array.from({ length: blocks }, (_, i) => [64 * i, 64 * i + 24]).flat()
      t.deepEqual(await collect(log.log, { values: false }), seqs)
      t.deepEqual(await collect(log.log, { values: false, reverse: true }), seqs.toReversed())
      t.equal((await log.getPrevious(64 * blocks)).seq, seqs.at(-1))
      t.deepEqual(await log.search((_, seq) => seq - seqs.at(-1)), { seq: seqs.at(-1), value: dataOf(20, 2) })
      const live = collect(log.log, { live: true, gt: seqs.at(-1), limit: 1, values: false })
      t.equal(await log.append('next'), 64 * blocks)
      t.deepEqual(await live, [64 * blocks])
      await log.del(seqs.at(-1))
      t.deepEqual(await collect(log.log, { values: false, reverse: true }), [64 * blocks, ...seqs.slice(0, -1).toReversed()])
      await log.close()
    }
  }
})

test('a log of more than 4 GiB can be read and appended to', async (t) => {
  const file = testFolder(t)
  const start = 2 ** 33 + 65536 // everything before it is a hole, which takes no space
  const fd = fs.openSync(file('log'), 'w')
  const block = sealedBlock(65536, [dataOf(30000, 1), dataOf(30000, 2)])
  fs.writeSync(fd, block, 0, block.length, start)
  const tail = tailOf([dataOf(100, 3)])
  fs.writeSync(fd, tail, 0, tail.length, start + 65536)
  fs.closeSync(fd)
  const log = promises(FlumeLog(file('log')))
  const seqs = [start, start + 30004, start + 65536]
  await log.onReady()
  t.equal(log.log.blockSize, 65536)
  t.equal(log.log.since.value, seqs[2])
  t.deepEqual(await collect(log.log, { gte: start, values: false }), seqs)
  t.deepEqual(await collect(log.log, { gte: start, values: false, reverse: true }), seqs.toReversed())
  t.deepEqual(await log.get(seqs[1]), dataOf(30000, 2))
  t.equal((await log.getPrevious(seqs[2])).seq, seqs[1])
  t.equal(await codeOf(log.get(seqs[1] + 1)), 'flumelog:not-found')
  t.equal(await codeOf(log.get(5)), 'flumelog:corrupt')
  const next = await log.append(dataOf(65500, 4))
  t.equal(next, start + 2 * 65536)
  await log.del(seqs[1])
  await log.close()
  const again = promises(FlumeLog(file('log')))
  t.deepEqual(await collect(again.log, { gt: start, values: false }), [seqs[2], next])
  await again.close()
})

test('onReady calls back in order once the log is open, and immediately if it is open', async (t) => {
  const log = FlumeLog(newFile())
  const order = []
  log.onReady(() => order.push(1))
  log.since.once(value => order.push(`since ${value}`))
  await event(resolve => log.onReady(() => {
    order.push(2)
    log.onReady(() => order.push(3))
    resolve()
  }))
  t.deepEqual(order, ['since -1', 1, 2, 3])
  await promises(log).close()
})

test('close waits for earlier appends, and later ones fail', async (t) => {
  for (const isOpen of [true, false]) {
    const storage = newFile()
    const log = promises(FlumeLog(storage, { blockSize: 64 }))
    if (isOpen) await log.onReady()
    const order = []
    const appends = Array.from({ length: 20 }, (_, i) => log.append(Buffer.alloc(20, i + 1)).then(() => order.push(i)))
    const closing = log.close().then(() => order.push('closed'))
    const after = Object.entries(allCalls(log.log)).map(([name, call]) => [name, codeOf(call())])
    await Promise.all([...appends, closing])
    t.deepEqual(order, [...Array(20).keys(), 'closed'])
    const other = []
    for (const [name, found] of after) if (await found !== 'flumelog:closed') other.push(`${name}: ${await found}`)
    t.deepEqual(other, [], `calls made after close, on a log that ${isOpen ? 'is' : 'is not yet'} open, end with flumelog:closed`)
    await log.close()

    const again = promises(FlumeLog(storage))
    t.equal((await collect(again.log)).length, 20)
    await again.close()
  }
})

test('close waits for deletions in any number of blocks', async (t) => {
  for (const isOpen of [true, false]) {
    const storage = newFile()
    const first = promises(FlumeLog(storage, { blockSize: 64 }))
    for (let i = 0; i < 100; i++) await first.append(Buffer.alloc(40, i + 1))
    await first.close()
    const log = promises(FlumeLog(storage))
    const seqs = Array.from({ length: 100 }, (_, i) => 64 * i).filter(seq => seq % 128 === 0)
    if (isOpen) await log.onReady()
    const deletions = seqs.map(seq => codeOf(log.del(seq)))
    const all = codeOf(log.del(seqs))
    await log.close()
    t.equal(await all, 'no error, but undefined')
    t.ok((await Promise.all(deletions)).every(code => code === 'no error, but undefined'))
    const again = promises(FlumeLog(storage))
    t.equal((await collect(again.log)).length, 50)
    await again.close()
  }
})

test('close waits for sync and onDrain', async (t) => {
  const log = promises(FlumeLog(newFile()))
  const order = []
  log.append('x')
  const done = [log.sync().then(() => order.push('sync')), log.onDrain().then(() => order.push('drain'))]
  await log.close().then(() => order.push('close'))
  await Promise.all(done)
  t.deepEqual(order.toSorted(), ['close', 'drain', 'sync'])
  t.equal(order.at(-1), 'close')
})

test('reads in progress when the log is closed end with their result or flumelog:closed', async (t) => {
  const storage = newFile()
  const first = promises(FlumeLog(storage, { blockSize: 64 }))
  for (let i = 0; i < 100; i++) await first.append(Buffer.alloc(40, i + 1))
  await first.close()
  const log = promises(FlumeLog(storage, { cacheSize: 0 }))
  await log.onReady()
  const calls = Object.entries(allCalls(log.log)).filter(([name]) => !name.startsWith('append'))
  const under = calls.map(([name, call]) => [name, codeOf(call())])
  const gets = Array.from({ length: 99 }, (_, i) => codeOf(log.get(i * 64)))
  await log.close()
  const other = []
  for (const [name, found] of under) if (!/^no error|^flumelog:(closed|not-found)$/.test(await found)) other.push(`${name}: ${await found}`)
  for (const found of gets) if (!/^no error|^flumelog:closed$/.test(await found)) other.push(`get: ${await found}`)
  t.deepEqual(other, [])
})

test('a stream or scan that has not reached its end when the log is closed ends with flumelog:closed', async (t) => {
  const file = testFolder(t)('log')
  const first = promises(FlumeLog(file))
  await first.append(Array.from({ length: 400 }, (_, i) => Buffer.alloc(60000, i % 255 + 1)))
  await first.close()
  // the second time, a log that is closed meanwhile is closed before its reads
  for (const isLate of [false, true]) {
    const controlled = new ControlledFile(file)
    const log = controlled.open({ cacheSize: 0 })
    await log.onReady()
    if (isLate) controlled.held.add('read')
    controlled.onpending = () => setImmediate(() => controlled.pending[0]?.finish())
    const ends = []
    for (const reverse of [false, true]) {
      let left = 30
      ends.push(codeOf(new Promise((resolve, reject) => log.log.scan({ reverse, cache: false }, () => {
        if (--left === 0) log.log.close()
      }, err => err ? reject(err) : resolve()))))
      ends.push(codeOf(collect(log.log, { reverse })))
    }
    for (const end of ends) t.equal(await end, 'flumelog:closed')
    await log.close()
  }
})

test('close can be called several times, and each callback runs when the log is closed', async (t) => {
  for (const isOpen of [true, false]) {
    const log = promises(FlumeLog(newFile()))
    if (isOpen) await log.onReady()
    log.append('x')
    const order = []
    await Promise.all([log.close().then(() => order.push(1)), log.close().then(() => order.push(2)), log.close().then(() => order.push(3))])
    t.deepEqual(order, [1, 2, 3])
    await log.close()
    log.log.close()
    await everyLaterCallIsClosed(t, log.log)
  }
})

async function everyLaterCallIsClosed (t, log) {
  const other = []
  for (const [name, call] of Object.entries(allCalls(log))) {
    const code = await codeOf(call())
    if (code !== 'flumelog:closed') other.push(`${name}: ${code}`)
  }
  t.deepEqual(other, [])
}

test('a log may be closed from within the callback of any call', async (t) => {
  for (const name of Object.keys(allCalls(FlumeLog(newFile())))) {
    const log = promises(FlumeLog(newFile(), { blockSize: 64 }))
    await log.append(['first', 'second'])
    const { log: face } = log
    const close = () => event(resolve => {
      const then = () => face.close(resolve)
      switch (name) {
        case 'append': return face.append('x', then)
        case 'append of a batch': return face.append(['x', 'y'], then)
        case 'append with sync': return face.append('x', { sync: true }, then)
        case 'stream': return face.stream()(null, then)
        case 'stream, live': return face.stream({ live: true })(null, then)
        case 'scan': return face.scan({}, () => {}, then)
        case 'search': return face.search(() => 0, then)
        case 'onReady': case 'onDrain': case 'sync': return face[name](then)
        default: return face[name](0, then)
      }
    })
    t.ok(!await close(), name)
    await everyLaterCallIsClosed(t, face)
  }
})

test('an open log does not keep its process alive, and its acknowledged appends are stored', async (t) => {
  const file = testFolder(t)
  const program = `
    const log = require(${JSON.stringify(path.join(__dirname, '..', '..'))})(${JSON.stringify(file('log'))})
    log.stream({ live: true })(null, function next () {})
    log.append('x', () => console.log('appended'))`
  const output = await event(resolve => execFile(process.execPath, ['-e', program], (err, stdout, stderr) => resolve({ err, stdout, stderr })))
  t.deepEqual(output, { err: null, stdout: 'appended\n', stderr: '' })
  const log = promises(FlumeLog(file('log')))
  t.deepEqual(await collect(log.log, { seqs: false }), [Buffer.from('x')])
  await log.close()
})

test('appends made inside onReady come behind those that were called before', async (t) => {
  const log = promises(FlumeLog(newFile()))
  const inside = new Promise((resolve, reject) => log.log.onReady(() => log.append('from onReady').then(resolve, reject)))
  const values = ['one', 'two', ['three', 'four']]
  await Promise.all([...values.map(value => log.append(value)), inside])
  t.deepEqual((await collect(log.log, { seqs: false })).map(String), ['one', 'two', 'three', 'four', 'from onReady'])
  await log.close()
})

test('no log may have the name of a file beside another log, but it can be read', async (t) => {
  const name = testFolder(t)
  const jobs = promises(FlumeLog(name('jobs')))
  await jobs.append('a')
  for (const suffix of ['.meta', '.offset-map', '.unfinished', '.unfinished.offset-map', '.meta.new', '.socket', '.mirror-id', '.pull', '.cut-128', '.cursor-mail']) {
    const side = name(`jobs${suffix}`)
    const isThere = fs.existsSync(side)
    let thrown = null
    try {
      FlumeLog(side)
    } catch (err) {
      thrown = err
    }
    t.equal(thrown?.code, 'flumelog:invalid')
    t.match(thrown?.message, /: this name is for a file beside the log .*; choose another name, or open it with readOnly$/)
    for (const full of [false, true]) t.equal(await codeOf(new Promise((resolve, reject) => jobs.log.backup(side, { full }, err => err ? reject(err) : resolve()))), 'flumelog:invalid')
    t.equal(fs.existsSync(side), isThere)
  }
  fs.copyFileSync(name('jobs'), name('jobs.cut-128'))
  const cut = promises(FlumeLog(name('jobs.cut-128'), { readOnly: true }))
  t.deepEqual(await collect(cut.log, { seqs: false }), [Buffer.from('a')])
  await cut.close()
  t.equal(await jobs.append('b'), 5)
  await jobs.close()
  const other = promises(FlumeLog(name('.meta')))
  t.equal(await other.append('a'), 0, 'a name that only looks like one is valid')
  await other.close()
})
