'use strict'

// Invalid input: each call fails with a clear error that has a code, and leaves the log
// unaffected.

const test = require('tape')
const FlumeLog = require('../..')
const { promises } = require('../helpers/promises')
const { newFile, testFolder } = require('../helpers/folder')
const { collect, codeOf, event } = require('../helpers/reading')
const { uncaughtDuring } = require('../helpers/uncaught')

const BLOCK_SIZE = 64

/** Ten records in blocks of 64 bytes, read by the thread pool; the last block is the tail. */
async function tenRecords (options) {
  const storage = newFile()
  const first = promises(FlumeLog(storage, { blockSize: BLOCK_SIZE }))
  const seqs = []
  for (let i = 0; i < 10; i++) seqs.push(await first.append(Buffer.alloc(20, i + 1)))
  await first.close()
  const log = promises(FlumeLog(storage, { blocking: false, ...options }))
  await log.onReady()
  return { ...log, seqs }
}

/** Checks that the log contains these ten records, and accepts more. */
async function goesOn (t, log, seqs) {
  const before = await collect(log.log, { values: false })
  t.deepEqual(before.slice(0, seqs.length), seqs, 'nothing was lost')
  const value = Buffer.alloc(7, 0xaa)
  const seq = await log.append(value)
  t.ok(seq > before.at(-1), 'it takes more')
  t.deepEqual(await log.get(seq), value)
  await log.close()
}

const scanOf = (log, options, onRecord = () => {}) => new Promise((resolve, reject) => {
  log.scan(options, onRecord, err => err ? reject(err) : resolve())
})

// Offsets

const NO_SEQS = [undefined, null, NaN, -1, -0.5, 0.5, 24.000001, Infinity, -Infinity, '0', '', 'x', true, {}, [], [0], 0n, Symbol('x'), () => {}, Buffer.alloc(1), new Date(0)]
const NO_RECORDS = [1, 2, 19, 20, 23, 25, 47, 48, 49, 63, 65, 4096, 2 ** 31, 2 ** 32, 2 ** 32 + 24, 2 ** 53, 2 ** 60, Number.MAX_VALUE]

for (const name of ['get', 'del']) {
  test(`${name} of an invalid offset is flumelog:invalid, of an offset without a record flumelog:not-found`, async (t) => {
    const log = await tenRecords()
    for (const seq of NO_SEQS) {
      // a list, or a range: see test/space/range-deletion.js
      if (name === 'del' && ['[object Array]', '[object Object]'].includes(Object.prototype.toString.call(seq))) continue
      const err = await log[name](seq).then(() => null, err => err)
      t.equal(err?.code, 'flumelog:invalid', `${typeof seq} ${String(seq)}`)
      t.match(err?.message ?? '', /^seq must be the offset of a record, an integer of 0 or more; it is /)
    }
    for (const seq of NO_RECORDS) {
      const err = await log[name](seq).then(() => null, err => err)
      t.equal(err?.code, 'flumelog:not-found', `${seq}`)
      t.match(err?.message ?? '', / no record (starts )?at offset \d/)
      t.equal(err?.offset, seq)
    }
    await goesOn(t, log, log.seqs)
  })
}

test('get finds a record only at offsets where one starts', async (t) => {
  const log = await tenRecords()
  const found = []
  for (let seq = 0; seq <= 64 * 4 + 48; seq++) {
    const code = await codeOf(log.get(seq))
    if (code !== 'flumelog:not-found') found.push(seq)
  }
  t.deepEqual(found, log.seqs)
  await log.close()
})

test('del of several deletes none if one of them is not an offset', async (t) => {
  const log = await tenRecords()
  for (const wrong of [-1, NaN, '24', null, 64 * 100]) {
    const code = await codeOf(log.del([log.seqs[0], wrong, log.seqs[1]]))
    t.equal(code, wrong === 64 * 100 ? 'flumelog:not-found' : 'flumelog:invalid')
  }
  t.deepEqual(await collect(log.log, { values: false }), log.seqs)
  await goesOn(t, log, log.seqs)
})

test('del of several reports an offset where no record starts, and deletes the others', async (t) => {
  const log = await tenRecords()
  t.equal(await codeOf(log.del([log.seqs[0], 1, log.seqs[3]])), 'flumelog:not-found')
  t.deepEqual(await collect(log.log, { values: false }), log.seqs.filter((_, i) => i !== 0 && i !== 3))
  t.equal(await codeOf(log.del([])), 'no error, but undefined')
  await log.close()
})

test('get of a deleted record is flumelog:deleted, and deleting it again succeeds', async (t) => {
  const log = await tenRecords()
  for (const seq of [log.seqs[0], log.seqs[9]]) {
    await log.del(seq)
    t.equal(await codeOf(log.get(seq)), 'flumelog:deleted')
    t.equal(await codeOf(log.del(seq)), 'no error, but undefined')
    t.equal(await codeOf(log.del([seq, seq])), 'no error, but undefined')
  }
  t.deepEqual((await log.getPrevious(log.seqs[9])).seq, log.seqs[8], 'and one may still ask for the one before it')
  t.equal(await codeOf(log.getPrevious(log.seqs[1])), 'flumelog:not-found')
  await log.close()
})

// Records

const NO_VALUES = [
  [undefined, 'flumelog:invalid'], [null, 'flumelog:invalid'], [5, 'flumelog:invalid'], [true, 'flumelog:invalid'], [{}, 'flumelog:invalid'],
  [Symbol('x'), 'flumelog:invalid'], [5n, 'flumelog:invalid'], [() => {}, 'flumelog:invalid'], [new ArrayBuffer(5), 'flumelog:invalid'], [new Uint16Array([1]), 'flumelog:invalid'],
  ['', 'flumelog:invalid'], [Buffer.alloc(0), 'flumelog:invalid'],
  [Buffer.alloc(1), 'flumelog:invalid'], [Buffer.alloc(50), 'flumelog:invalid'], ['\0', 'flumelog:invalid'], ['\0\0\0', 'flumelog:invalid'],
  [Buffer.alloc(51, 1), 'flumelog:too-large'], [Buffer.alloc(70000, 1), 'flumelog:too-large'], ['x'.repeat(51), 'flumelog:too-large']
]
const nameOf = (value) => `${value?.constructor?.name ?? typeof value} of ${value?.length ?? value?.byteLength ?? ''}`

test('a record that cannot be stored is rejected with the reason, before the log is open and after', async (t) => {
  for (const [value, code] of NO_VALUES) {
    for (const isOpen of [true, false]) {
      const log = promises(FlumeLog(newFile(), { blockSize: BLOCK_SIZE }))
      if (isOpen) await log.onReady()
      t.equal(await codeOf(log.append(value)), code, nameOf(value))
      t.equal(await codeOf(log.append(value, { sync: true })), code)
      t.equal(await log.append('next'), 0, 'and leaves no trace')
      await log.close()
    }
  }
})

test('sync and atomic of an append must be true or false', async (t) => {
  const log = promises(FlumeLog(newFile()))
  for (const options of [{ sync: 1 }, { sync: 'always' }, { atomic: 'no' }, { atomic: [] }]) {
    const err = await log.append(['a', 'b'], options).then(() => null, err => err)
    t.equal(err?.code, 'flumelog:invalid')
    t.match(err?.message, /^(sync|atomic) must be true or false; it is /)
  }
  t.equal(await log.append('a', { sync: undefined, atomic: null }), 0, 'none of them is stored; what is not given is false')
  await log.close()
})

test('a batch with an invalid record stores nothing', async (t) => {
  for (const [value, code] of NO_VALUES) {
    for (const isOpen of [true, false]) {
      const log = promises(FlumeLog(newFile(), { blockSize: BLOCK_SIZE }))
      if (isOpen) await log.onReady()
      t.equal(await codeOf(log.append(['a', 'b', value, 'c'])), code, nameOf(value))
      t.equal(await log.append(['a', 'b']), 5)
      t.deepEqual(await collect(log.log, { seqs: false }), [Buffer.from('a'), Buffer.from('b')])
      await log.close()
    }
  }
})

test('the largest record accepted has the size that the error for a larger one gives', async (t) => {
  for (const checksum of [true, false]) {
    for (const blockSize of [32, 64, 1000, 65536]) {
      const log = promises(FlumeLog(newFile(), { blockSize, checksum }))
      const most = blockSize - (checksum ? 14 : 10)
      const err = await log.append(Buffer.alloc(most + 1, 1)).then(() => null, err => err)
      t.equal(err?.code, 'flumelog:too-large')
      t.equal(err?.most, most)
      t.ok(err?.message.includes(`a record of ${most + 1} bytes`) && err.message.includes(`the maximum is ${most} bytes, with blocks of ${blockSize}`), err?.message)
      t.equal(await log.append(Buffer.alloc(most, 1)), 0)
      t.equal(await log.append(Buffer.alloc(most, 2)), blockSize)
      await log.close()
    }
  }
})

test('a record of zeros only is refused, and stored with a byte in front, as its error says', async (t) => {
  const log = promises(FlumeLog(newFile()))
  const counter = Buffer.alloc(8)
  const err = await log.append(counter).then(() => null, err => err)
  t.equal(err?.code, 'flumelog:invalid')
  t.match(err?.message, /all zeros .*start it with a byte that is not 0/)
  const seq = await log.append(Buffer.concat([Buffer.of(1), counter]))
  t.deepEqual((await log.get(seq)).subarray(1), counter)
  await log.close()
})

test('an array with a record that cannot be stored is refused as a whole, and the error names the record', async (t) => {
  for (const large of [false, true]) {
    for (const [values, index] of [[['a', '', 'b'], 1], [[Buffer.from('a'), Buffer.from('b'), Buffer.alloc(2)], 2], [['', ''], 0]]) {
      const log = promises(FlumeLog(newFile(), { large }))
      const err = await log.append(values).catch(err => err)
      t.deepEqual([err.code, err.index], ['flumelog:invalid', index])
      t.match(err.message, new RegExp(`; this is record ${index} of the array \\(counted from 0\\), of which nothing was stored$`))
      t.deepEqual(await collect(log.log, {}), [], 'nothing is stored')
      const alone = await log.append([values[index]], { atomic: true }).catch(err => err)
      t.deepEqual([alone.code, 'index' in alone, /array/.test(alone.message)], ['flumelog:invalid', false, false], 'one alone needs no number')
      await log.close()
    }
  }
  const log = promises(FlumeLog(newFile(), { blockSize: 64 }))
  const err = await log.append([Buffer.alloc(5, 1), Buffer.alloc(100, 1)]).catch(err => err)
  t.deepEqual([err.code, err.index], ['flumelog:too-large', 1])
  await log.close()
})

test('strings, Buffers and Uint8Arrays are stored, and come back as Buffers', async (t) => {
  const log = promises(FlumeLog(newFile()))
  await log.append(['text', 'ümlaut €', Buffer.from('buffer'), new Uint8Array([1, 2, 3]), Buffer.from('subarray').subarray(3)])
  const values = await collect(log.log, { seqs: false })
  t.ok(values.every(Buffer.isBuffer))
  t.deepEqual(values.map(String), ['text', 'ümlaut €', 'buffer', '\x01\x02\x03', 'array'])
  await log.close()
})

// Codecs

test('a codec that throws in encode rejects that record, and nothing else', async (t) => {
  const cause = new Error('cannot')
  const codec = {
    encode: (value) => {
      if (value === 'bad') throw cause
      if (value === 'worse') throw 'a string' // eslint-disable-line no-throw-literal
      if (value === 'worst') throw undefined // eslint-disable-line no-throw-literal
      return Buffer.from(value)
    },
    decode: String
  }
  for (const isOpen of [true, false]) {
    const log = promises(FlumeLog(newFile(), { codec }))
    if (isOpen) await log.onReady()
    const err = await log.append('bad').catch(err => err)
    t.equal(err.code, 'flumelog:invalid')
    t.equal(err.cause, cause)
    t.ok(err.message.includes('cannot'), err.message)
    t.equal(await codeOf(log.append('worse')), 'flumelog:invalid')
    t.equal(await codeOf(log.append('worst')), 'flumelog:invalid')
    t.equal(await codeOf(log.append(['a', 'bad', 'b'])), 'flumelog:invalid')
    t.equal(await log.append('good'), 0)
    t.deepEqual(await collect(log.log), [{ seq: 0, value: 'good' }])
    await log.close()
  }
})

test('a codec that returns something other than bytes or text rejects that record, and nothing else', async (t) => {
  const codec = { encode: value => value, decode: String }
  const log = promises(FlumeLog(newFile(), { codec }))
  for (const rubbish of [undefined, null, 5, {}, [], ['a'], true, '', Buffer.alloc(3), new Uint16Array(3), Promise.resolve('x')]) {
    // not as an array, which would be a batch
    const value = Array.isArray(rubbish) ? [rubbish] : rubbish
    t.equal(await codeOf(log.append(value)), 'flumelog:invalid', String(rubbish))
  }
  t.equal(await log.append('good'), 0)
  await log.close()
})

test('a record that the codec cannot decode is flumelog:corrupt, and the others can be read', async (t) => {
  const cause = new Error('cannot')
  const codec = { encode: Buffer.from, decode: (data) => { if (data[0] === 4) throw cause; return data[0] } }
  const log = await tenRecords({ codec })
  const bad = log.seqs[3]
  const err = await log.get(bad).catch(err => err)
  t.equal(err.code, 'flumelog:corrupt')
  t.equal(err.offset, bad)
  t.equal(err.cause, cause)
  t.equal(await log.get(log.seqs[2]), 3)
  t.equal(await codeOf(collect(log.log)), 'flumelog:corrupt')
  t.equal(await codeOf(collect(log.log, { reverse: true })), 'flumelog:corrupt')
  t.deepEqual(await collect(log.log, { gt: bad, seqs: false }), [5, 6, 7, 8, 9, 10])
  t.deepEqual(await collect(log.log, { values: false }), log.seqs, 'who asks for no values is not told')
  t.equal(await codeOf(log.getPrevious(log.seqs[4])), 'flumelog:corrupt')
  t.equal((await log.getPrevious(log.seqs[5])).value, 5)
  t.equal(await codeOf(log.search(value => value - 4)), 'flumelog:corrupt')
  t.deepEqual(await log.search((value, seq) => seq - log.seqs[6]), { seq: log.seqs[6], value: 7 })
  t.equal(await codeOf(scanOf(log.log, {})), 'no error, but undefined')
  t.equal(log.log.stats().streams, 0)
  await goesOn(t, { ...log, append: value => log.append(value), get: async seq => Buffer.alloc(7, await log.get(seq)) }, log.seqs)
})

test('whatever a codec decodes to is returned unchanged', async (t) => {
  for (const rubbish of [undefined, null, 0, false, NaN, '', new Error('a value')]) {
    const log = await tenRecords({ codec: { encode: value => value, decode: () => rubbish } })
    t.equal(await log.get(0), rubbish)
    const values = await collect(log.log, { seqs: false })
    t.equal(values.length, 10)
    t.ok(values.every(value => Object.is(value, rubbish)))
    t.deepEqual((await collect(log.log)).map(({ seq }) => seq), log.seqs)
    await log.close()
  }
})

test('a codec with buffer: false receives strings', async (t) => {
  const log = promises(FlumeLog(newFile(), { codec: { encode: JSON.stringify, decode: JSON.parse, buffer: false } }))
  await log.append({ a: 'ü' })
  t.deepEqual(await collect(log.log, { seqs: false }), [{ a: 'ü' }])
  await log.close()
})

test('a codec is called as a method', async (t) => {
  const codec = {
    prefix: 'p',
    encode (value) { return Buffer.from(this.prefix + value) },
    decode (data) { return String(data).slice(this.prefix.length) }
  }
  const log = promises(FlumeLog(newFile(), { codec }))
  t.equal(await log.append('a'), 0)
  t.equal(await log.get(0), 'a')
  await log.close()
})

// Ownership of what callers pass

test('the caller may change a Buffer after append has returned', async (t) => {
  for (const isOpen of [true, false]) {
    for (const codec of [undefined, { encode: value => value, decode: data => data }]) {
      const log = promises(FlumeLog(newFile(), { codec }))
      if (isOpen) await log.onReady()
      const shared = Buffer.from('first!')
      const bytes = new Uint8Array(Buffer.from('second'))
      const appended = [log.append(shared)]
      shared.write('changed')
      appended.push(log.append([shared, bytes]))
      shared.fill(0)
      bytes.fill(0)
      await Promise.all(appended)
      t.deepEqual((await collect(log.log, { seqs: false })).map(String), ['first!', 'change', 'second'])
      await log.close()
    }
  }
})

test('the caller may change an object or a batch after append has returned', async (t) => {
  for (const isOpen of [true, false]) {
    const log = promises(FlumeLog(newFile(), { codec: { encode: JSON.stringify, decode: JSON.parse } }))
    if (isOpen) await log.onReady()
    const shared = { n: 1 }
    const appended = [log.append(shared)]
    shared.n = 2
    const batch = [shared, { n: 3 }]
    appended.push(log.append(batch))
    shared.n = 99
    batch.length = 0
    await Promise.all(appended)
    t.deepEqual(await collect(log.log, { seqs: false }), [{ n: 1 }, { n: 2 }, { n: 3 }], `the log is ${isOpen ? 'open' : 'not yet open'}`)
    await log.close()
  }
})

test('a buffer that a codec reuses for each record is copied', async (t) => {
  const scratch = Buffer.alloc(4)
  const codec = {
    encode (number) {
      scratch.writeUInt32LE(number)
      return scratch
    },
    decode: data => data.readUInt32LE()
  }
  for (const isOpen of [true, false]) {
    const log = promises(FlumeLog(newFile(), { codec }))
    if (isOpen) await log.onReady()
    await Promise.all([log.append(1), log.append([2, 3, 4]), log.append(5), log.append([6, 7], { atomic: true })])
    t.deepEqual(await collect(log.log, { seqs: false }), [1, 2, 3, 4, 5, 6, 7], `the log is ${isOpen ? 'open' : 'not yet open'}`)
    await log.close()
  }
})

test('Buffers returned to callers do not change, whatever is appended and deleted later', async (t) => {
  for (const cacheSize of [0, 1 << 20]) {
    const log = promises(FlumeLog(newFile(), { blockSize: 256, cacheSize }))
    const held = []
    const hold = (value) => held.push({ value, was: Buffer.from(value) })
    for (let round = 0; round < 40; round++) {
      const seq = await log.append(Buffer.alloc(20, round + 1))
      hold(await log.get(seq))
      hold((await log.getPrevious(seq + 24)).value)
      for (const { value } of await collect(log.log, { reverse: true, limit: 4 })) hold(value)
      hold((await log.search(() => 0)).value)
      const seqs = await collect(log.log, { values: false })
      if (round % 3 === 2) await log.del(seqs[round % seqs.length])
      if (round % 5 === 4) await log.del(seqs.slice(-3))
      log.append(Buffer.alloc(100, 0xff))
    }
    await log.close()
    t.equal(held.filter(({ value, was }) => !value.equals(was)).length, 0, `${held.length} of them`)
  }
})

// Callbacks

test('a call that requires a callback throws immediately if it is missing or not a function', async (t) => {
  const log = await tenRecords()
  const { log: face } = log
  const calls = {
    get: (cb) => face.get(0, cb),
    getPrevious: (cb) => face.getPrevious(24, cb),
    search: (cb) => face.search(() => 0, cb),
    scan: (cb) => face.scan({}, () => {}, cb),
    'scan\'s onRecord': (cb) => face.scan({}, cb, () => {}),
    onReady: (cb) => face.onReady(cb),
    onDrain: (cb) => face.onDrain(cb)
  }
  const optional = {
    append: (cb) => face.append('x', {}, cb),
    'append of a batch': (cb) => face.append(['x'], {}, cb),
    del: (cb) => face.del(0, cb),
    sync: (cb) => face.sync(cb),
    close: (cb) => face.close(cb)
  }
  for (const [name, call] of Object.entries({ ...calls, ...optional })) {
    for (const cb of name in calls ? [undefined, null, 5, 'x', {}] : [5, 'x', {}]) {
      let thrown = null
      try {
        call(cb)
      } catch (err) {
        thrown = err
      }
      t.equal(thrown?.code, 'flumelog:invalid', `${name} with ${String(cb)}`)
      t.match(thrown?.message ?? '', /function/)
    }
  }
  t.deepEqual(await collect(face, { values: false }), log.seqs, 'and nothing was done')
  face.append('x', {}, undefined)
  face.append('y', {}, null)
  face.append('z', null, null)
  face.del(0, null)
  face.sync(null)
  await log.onDrain()
  t.equal((await collect(face)).length, 12)
  face.close(null)
  await log.close()
})

/** The messages of exceptions from callbacks, which would otherwise terminate the process. */
async function thrownDuring (work) {
  const thrown = await uncaughtDuring(async () => {
    await work()
    await event(setImmediate)
  })
  return thrown.map(({ message }) => message)
}

const throwing = (message) => () => { throw new Error(message) }

test('a callback that throws affects neither other callbacks nor the log', async (t) => {
  const delayed = (log, cb) => {
    log.append('x')
    return cb
  }
  /** Calls of which the first two have callbacks that throw. @type {Record<string, Array<(log: any, cb: (...args: any[]) => void) => void>>} */
  const cases = {
    append: Array(3).fill((log, cb) => log.append('a', cb)),
    'append of what is refused': Array(3).fill((log, cb) => log.append('', cb)),
    'get, of a block that is read': [0, 0, 24].map(seq => (log, cb) => log.get(seq, cb)),
    'getPrevious, of a block that is read': Array(3).fill((log, cb) => log.getPrevious(24, cb)),
    'stream, of a block that is read': Array(3).fill((log, cb) => log.stream()(null, cb)),
    'stream, live': Array(3).fill((log, cb) => {
      log.stream({ old: false })(null, cb)
      log.append('x')
    }),
    search: Array(3).fill((log, cb) => log.search(() => 0, cb)),
    scan: Array(3).fill((log, cb) => log.scan({}, () => {}, cb)),
    del: [0, 24, 64].map(seq => (log, cb) => log.del(seq, cb)),
    'del of what is not there': [1, 1000000, 2].map(seq => (log, cb) => log.del(seq, cb)),
    'del of what is deleted': Array(3).fill((log, cb) => log.del(0, () => log.del(0, cb))),
    sync: Array(3).fill((log, cb) => log.sync(delayed(log, cb))),
    'onDrain, with nothing to wait for': Array(3).fill((log, cb) => log.onDrain(cb)),
    'onDrain, with something to wait for': Array(3).fill((log, cb) => log.onDrain(delayed(log, cb)))
  }
  for (const [name, calls] of Object.entries(cases)) {
    const log = await tenRecords({ cacheSize: 0 })
    const thrown = await thrownDuring(() => event(resolve => calls.forEach((call, i) => call(log.log, i < 2 ? throwing(`${i + 1}`) : resolve))))
    t.deepEqual(thrown.toSorted(), ['1', '2'], name)
    await goesOn(t, log, (await collect(log.log, { values: false })).slice(0, 10))
  }
})

test('a callback that throws while the log opens or closes does not affect other callbacks', async (t) => {
  const log = FlumeLog(newFile())
  const thrown = await thrownDuring(async () => {
    log.since(value => { if (value === -1) throw new Error('since') })
    log.onReady(throwing('ready 1'))
    log.append('x', throwing('append'))
    log.onReady(throwing('ready 2'))
    await event(resolve => log.onReady(resolve))
    await event(resolve => log.onDrain(resolve))
    t.equal(log.since.value, 0)
    const stream = log.stream({ live: true })
    await event(resolve => stream(null, resolve))
    stream(null, throwing('stream'))
    const other = log.stream({ live: true })
    await event(resolve => other(null, resolve))
    const ended = event(resolve => other(null, resolve))
    log.close(throwing('close 1'))
    log.close(throwing('close 2'))
    await event(resolve => log.close(resolve))
    t.equal(await ended, true)
  })
  t.deepEqual(thrown.toSorted(), ['append', 'close 1', 'close 2', 'ready 1', 'ready 2', 'since', 'stream'])
})

test('a callback that throws when the log cannot be opened does not affect other callbacks', async (t) => {
  const file = testFolder(t)
  const log = FlumeLog(file('.'))
  const thrown = await thrownDuring(async () => {
    log.onReady(throwing('ready'))
    log.append('x', throwing('append'))
    log.get(0, throwing('get'))
    log.stream()(null, throwing('stream'))
    t.equal((await event(resolve => log.onReady(resolve)))?.code, 'EISDIR')
    log.get(0, throwing('later'))
    t.equal((await event(resolve => log.get(0, resolve)))?.code, 'EISDIR')
  })
  t.deepEqual(thrown.toSorted(), ['append', 'get', 'later', 'ready', 'stream'])
})

test('an exception in onRecord of scan ends the scan with that error', async (t) => {
  const log = await tenRecords()
  const thrown = new Error('from onRecord')
  let count = 0
  t.equal(await scanOf(log.log, {}, () => {
    if (++count === 5) throw thrown
  }).catch(err => err), thrown)
  t.equal(count, 5)
  await goesOn(t, log, log.seqs)
})

test('scan with invalid options is an error', async (t) => {
  const log = await tenRecords()
  for (const options of [null, 5, 'x', true]) t.equal(await codeOf(scanOf(log.log, options)), 'flumelog:invalid')
  await goesOn(t, log, log.seqs)
})

test('append takes no options, an object, or a boolean as in flumelog-aligned-offset; anything else is flumelog:invalid', async (t) => {
  const log = await tenRecords()
  const append = (options) => event(resolve => log.log.append('x', options, (err, seq) => resolve(err === null && seq > 0 ? 'stored' : err.code)))
  for (const options of [null, undefined, {}, true, false]) t.equal(await append(options), 'stored', String(options))
  for (const options of [5, 'sync', 0n, Symbol('sync')]) t.equal(await append(options), 'flumelog:invalid', String(options))
  await goesOn(t, log, log.seqs)
})

test('codec.encode is called at most once per value, and not for those of an array after the one that is refused', async (t) => {
  const encoded = []
  const codec = {
    encode (value) {
      encoded.push(value)
      if (value === 'cannot') throw new Error('no')
      return Buffer.from(value)
    },
    decode: String
  }
  const log = FlumeLog(newFile(), { codec, blockSize: 128 })
  const call = (name, ...args) => new Promise(resolve => log[name](...args, (err) => resolve(err?.code ?? null)))
  const tooLong = 'x'.repeat(200)
  const early = call('append', ['early', 'cannot', ''])
  await call('onReady')
  await early
  const codes = await Promise.all([
    call('append', 'one'), call('append', 'cannot'), call('append', ''), call('append', tooLong),
    call('append', ['two', 'cannot', tooLong, 'three']), call('append', ['four', 'x'.repeat(120)], { atomic: true })
  ])
  t.deepEqual(codes, [null, 'flumelog:invalid', 'flumelog:invalid', 'flumelog:too-large', 'flumelog:invalid', 'flumelog:too-large'])
  const sunk = await new Promise(resolve => {
    const values = ['five', 'cannot', 'six']
    log.sink((err) => resolve(err?.code))((abort, cb) => abort || values.length === 0 ? cb(abort || true) : cb(null, values.shift()))
  })
  t.equal(sunk, 'flumelog:invalid')
  t.deepEqual(encoded, ['early', 'cannot', 'one', 'cannot', '', tooLong, 'two', 'cannot', 'four', 'x'.repeat(120), 'five', 'cannot'])
  await call('close')
})
