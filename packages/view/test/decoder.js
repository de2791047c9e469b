'use strict'

// What records contain, found by trying; each encoding against the package that writes it.

const { spawnSync } = require('child_process')
const { isDeepStrictEqual } = require('util')
const test = require('tape')
const fc = require('fast-check')
const bipf = require('bipf')
const msgpack = require('@msgpack/msgpack')
const FlumeLog = require('flumelog-random-access-file')
const { promises } = require('../../../test/helpers/promises')
const { viewOf } = require('./helpers/view')
const { Decoder, lineOf } = require('../lib/decoding/decoder')
const { newFile } = require('../../../test/helpers/folder')

/** An ES module. @type {any} */
let cborg

test('the package that writes CBOR is loaded', async (t) => {
  cborg = await import('cborg')
  t.ok(cborg.encode)
})

/** @type {Record<string, (value: any) => Buffer>} */
const ENCODERS = {
  json: value => Buffer.from(JSON.stringify(value)),
  bipf: value => bipf.allocAndEncode(value),
  cbor: value => Buffer.from(cborg.encode(value)),
  msgpack: value => Buffer.from(msgpack.encode(value))
}
const message = (i) => ({ key: `%${i}`, value: { author: '@ada', sequence: i, timestamp: 1600000000000 + i, content: { type: 'post', text: 'é'.repeat(i % 5) } } })

test('a codec that fails says so once, and its records are shown all the same', async (t) => {
  const warnings = []
  const onWarning = ({ code, message }) => { if (code === 'FLUMELOG_CODEC') warnings.push(message) }
  process.on('warning', onWarning)
  t.teardown(() => process.off('warning', onWarning))
  const log = promises(FlumeLog(newFile()))
  await log.append(['one', '{"two":2}', 'three'])
  const { api } = await viewOf(t, log.log, { codec: { decode: (data) => JSON.parse(data) } })
  const { rows, warning } = await api('records')
  t.deepEqual(rows.map(({ kind, line }) => [kind, line]), [['utf8', 'one'], ['codec', '{"two":2}'], ['utf8', 'three']])
  t.match(warning, /^the codec fails: .*JSON/)
  await new Promise(resolve => setImmediate(resolve))
  t.deepEqual(warnings, [warning])
  await log.close()
})

for (const [name, encode] of Object.entries(ENCODERS)) {
  test(`any value is shown as it was encoded with ${name}`, (t) => {
    const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
    const decoder = new Decoder({ encoding: name })
    const keyed = fc.string({ unit: 'grapheme' }).filter(key => key !== '__proto__')
    const { value } = fc.letrec(tie => ({
      value: fc.oneof({ maxDepth: 4 }, fc.constant(null), fc.boolean(), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.string({ unit: 'grapheme' }), fc.array(tie('value'), { maxLength: 5 }), fc.dictionary(keyed, tie('value'), { maxKeys: 5, noNullPrototype: true }))
    }))
    fc.assert(fc.property(value, (value) => {
      const decoded = decoder.decode(encode(value))
      const plain = JSON.stringify(value)
      // some sort the keys of objects
      if (decoded.kind !== name || !isDeepStrictEqual(JSON.parse(decoded.json), JSON.parse(plain))) throw new Error(`${decoded.kind} ${decoded.json}, not ${plain}`)
    }), { numRuns: 300, seed })
    t.pass(`seed ${seed}`)
    t.end()
  })

  test(`a log of ${name} is found to be one`, async (t) => {
    const log = promises(FlumeLog(newFile()))
    await log.append(Array.from({ length: 50 }, (_, i) => encode(message(i))))
    const { api } = await viewOf(t, log.log)
    t.equal((await api('log')).encoding, name)
    const { rows } = await api('records?count=2')
    t.deepEqual(rows.map(row => [row.kind, row.time, JSON.parse(row.line)]), [0, 1].map(i => [name, 1600000000000 + i, message(i)]))
    await log.close()
  })
}

test('a log of text, of digits, of bytes, or of nothing is found to be that', (t) => {
  const found = (samples) => {
    const decoder = new Decoder({})
    decoder.detect(samples.map(sample => Buffer.from(sample)))
    return decoder.encoding
  }
  t.equal(found(['ada', 'grace', 'mary']), 'utf8')
  t.equal(found(['1', '22', '333']), 'utf8')
  t.equal(found(['{"a":1}', '{"b":2}', '[3]', '4', 'not json']), 'json', 'most of them')
  t.equal(found([[0xff, 0xfe, 1], [0xfe, 2, 3], [0xc1, 0xff]]), 'hex')
  t.equal(found([]), null, 'it is asked again')
  t.equal(found([[1], [2], [3]]), 'utf8', 'a byte is a number in any of the formats, by chance')
  t.end()
})

test('what cannot be decoded is shown as text or hex', (t) => {
  for (const encoding of Object.keys(ENCODERS)) {
    const decoder = new Decoder({ encoding })
    t.equal(decoder.decode(Buffer.from('{"half":')).kind, 'utf8', encoding)
    t.equal(decoder.decode(Buffer.from([0xff, 0xfe, 0xfd])).kind, 'hex', encoding)
    const whole = ENCODERS[encoding](message(3))
    t.notEqual(decoder.decode(whole.subarray(0, -1)).kind, encoding, 'the last byte is missing')
    if (encoding !== 'json') t.notEqual(decoder.decode(Buffer.concat([whole, Buffer.of(0)])).kind, encoding, 'there is one byte more')
  }
  t.end()
})

test('any bytes are shown in any encoding, in one line, within a bounded time', (t) => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  fc.assert(fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.constantFrom('json', 'utf8', 'hex', 'bipf', 'cbor', 'msgpack'), (bytes, encoding) => {
    const data = Buffer.from(bytes)
    const decoder = new Decoder({ encoding })
    const decoded = decoder.decode(data)
    const { line } = lineOf(decoded, data)
    if (line.length > 300 || /[\r\n]/.test(line)) throw new Error(line)
    if (decoded.json !== undefined) JSON.parse(decoded.json)
    decoder.timeOf(decoded)
  }), { numRuns: 2000, seed })
  const nested = (byte) => Buffer.alloc(60000, byte)
  for (const [encoding, byte] of [['cbor', 0x81], ['cbor', 0x9f], ['cbor', 0xc1], ['msgpack', 0x91], ['bipf', 0x0c]]) t.notEqual(new Decoder({ encoding }).decode(nested(byte)).kind, encoding, 'nothing is nested 60,000 times')
  const lengths = [['cbor', [0x9b, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]], ['msgpack', [0xdd, 0xff, 0xff, 0xff, 0xff]], ['msgpack', [0xdf, 0xff, 0xff, 0xff, 0xff]], ['bipf', [0xfc, 0xff, 0xff, 0xff, 0x7f]]]
  for (const [encoding, bytes] of lengths) t.notEqual(new Decoder({ encoding }).decode(Buffer.from(bytes)).kind, encoding, 'a length beyond the end is not believed')
  t.pass(`seed ${seed}`)
  t.end()
})

test('nested lengths, each as large as what is left of a record, take no memory for items that are not there', (t) => {
  // in a process of its own, which could not survive them
  const program = `
    const { Decoder } = require(${JSON.stringify(require.resolve('../lib/decoding/decoder'))})
    for (const [encoding, type] of [['msgpack', 0xdd], ['msgpack', 0xdf], ['cbor', 0x9a], ['cbor', 0xba]]) {
      const data = Buffer.alloc(1e6)
      for (let at = 0; at < 5 * 199; at += 5) {
        data[at] = type
        data.writeUInt32BE(data.length - at - 5, at + 1)
      }
      if (new Decoder({ encoding }).decode(data).kind === encoding) process.exit(1)
    }`
  const { status, stderr } = spawnSync(process.execPath, ['--max-old-space-size=200', '-e', program])
  t.equal(status, 0, String(stderr).split('\n').find(line => line.includes('FATAL')))
  // bytes that end a process in which the package of the format decodes them
  const hostile = [['bipf', Buffer.concat([Buffer.from('a401d8ffffff0f', 'hex'), Buffer.alloc(20)])], ['msgpack', Buffer.concat(Array.from({ length: 12000 }, () => Buffer.from('dd0000ea60', 'hex')))]]
  for (const [encoding, data] of hostile) t.notEqual(new Decoder({ encoding }).decode(data).kind, encoding)
  t.end()
})

test('values that JSON does not have are shown as text', (t) => {
  const shown = (encoding, bytes) => JSON.parse(new Decoder({ encoding }).decode(Buffer.from(bytes)).json)
  // RFC 8949, appendix A
  const vectors = [
    ['1bffffffffffffffff', '18446744073709551615'],
    ['c249010000000000000000', '18446744073709551616'],
    ['3bffffffffffffffff', '-18446744073709551616'],
    ['f97c00', 'Infinity'],
    ['f93c00', 1],
    ['f90001', 5.960464477539063e-8],
    ['f7', 'undefined'],
    ['f0', 'simple(16)'],
    ['f8ff', 'simple(255)'],
    ['4401020304', "h'01020304'"],
    ['5f42010243030405ff', "h'0102030405'"],
    ['7f657374726561646d696e67ff', 'streaming'],
    ['bf61610161629f0203ffff', { a: 1, b: [2, 3] }],
    ['c074323031332d30332d32315432303a30343a30305a', '2013-03-21T20:04:00Z'],
    ['d74401020304', { tag: 23, value: "h'01020304'" }],
    ['a201020304', { 1: 2, 3: 4 }]
  ]
  for (const [hex, value] of vectors) t.deepEqual(shown('cbor', Buffer.from(hex, 'hex')), value, hex)
  t.equal(shown('msgpack', msgpack.encode(new Date(1600000000123))), '2020-09-13T12:26:40.123Z')
  t.equal(shown('msgpack', msgpack.encode(new Uint8Array([1, 2]))), "h'0102'")
  t.equal(shown('msgpack', [0xcf, 255, 255, 255, 255, 255, 255, 255, 255]), '18446744073709551615')
  t.equal(shown('bipf', bipf.allocAndEncode(Buffer.from([1, 2]))), "h'0102'")
  const own = new Decoder({ encoding: 'cbor' }).decode(Buffer.from('a1695f5f70726f746f5f5fa1617801', 'hex'))
  t.equal(own.json, '{"__proto__":{"x":1}}', '__proto__ is a key like any other')
  t.end()
})

test('records are decoded by a codec of the caller, or of the log', async (t) => {
  const codec = { encode: (value) => Buffer.from(`!${JSON.stringify(value)}`), decode: (data) => JSON.parse(data.toString().slice(1)), buffer: true }
  const log = promises(FlumeLog(newFile(), { codec }))
  await log.append([{ a: 1n < 2n }, { at: 1600000000 }])
  const { api } = await viewOf(t, log.log)
  t.equal((await api('log')).encoding, 'codec')
  const { rows } = await api('records')
  t.deepEqual(rows.map(({ line, kind, time }) => [line, kind, time]), [['{"a":true}', 'codec', null], ['{"at":1600000000}', 'codec', 1600000000000]])
  t.equal((await api('records?encoding=text')).rows[0].line, '!{"a":true}', 'another encoding can be asked for')

  const big = { decode: (data) => ({ big: 2n ** 70n, bytes: data.subarray(0, 2), map: new Map([[1, NaN]]) }) }
  const { api: other } = await viewOf(t, log.log, { codec: big })
  t.deepEqual(JSON.parse((await other('records')).rows[0].line), { big: '1180591620717411303424', bytes: "h'217b'", map: [[1, 'NaN']] })
  const late = { decode: async () => { throw new Error('nobody waits for this') } }
  const { api: ofLate } = await viewOf(t, log.log, { codec: late })
  t.equal((await ofLate('records')).rows[0].kind, 'utf8', 'a codec must not be asynchronous')
  const circular = {}
  circular.self = circular
  for (const decode of [() => { throw new Error('no') }, () => circular, () => undefined, () => Symbol('x')]) {
    const { api } = await viewOf(t, log.log, { codec: { decode } })
    t.equal((await api('records')).rows[0].kind, 'utf8', 'a codec that fails does no harm')
  }
  const { api: timed } = await viewOf(t, log.log, { time: () => new Date(5) })
  t.equal((await timed('records')).rows[0].time, 5)
  await log.close()
})

test('the encoding text is another name of utf8', (t) => {
  t.equal(new Decoder({ encoding: 'text' }).encoding, 'utf8')
  t.equal(new Decoder({}).check('text'), 'utf8')
  t.throws(() => new Decoder({ encoding: 'xml' }), /encoding must be json, utf8, hex/)
  t.end()
})

test('records that are compressed are shown, filtered, listed and exported unpacked, and downloaded as they are stored', async (t) => {
  const zlib = require('zlib')
  const packings = { gzip: zlib.gzipSync, brotli: zlib.brotliCompressSync, ...(zlib.zstdCompressSync && { zstd: zlib.zstdCompressSync }) }
  for (const [name, pack] of Object.entries(packings)) {
    const log = promises(FlumeLog(newFile()))
    const seqs = []
    const stored = Array.from({ length: 20 }, (_, i) => pack(Buffer.from(JSON.stringify({ i, text: `record number ${i} `.repeat(i === 19 ? 5000 : 20) }))))
    for (const record of stored) seqs.push(await log.append(record))
    const { api, events, get } = await viewOf(t, log.log)
    t.equal((await api('log')).encoding, 'json', name)
    const { rows } = await api('records?columns=i')
    t.deepEqual(rows.map(({ cells }) => cells[0]), Array.from({ length: 20 }, (_, i) => String(i)))
    t.deepEqual((await events('filter?q=i+%3E+17+or+%22number+3+%22')).filter(({ event }) => event === 'hit').map(({ data }) => data.seq), [seqs[3], seqs[18], seqs[19]])
    const record = await api(`record?seq=${seqs[3]}`)
    t.deepEqual([record.value.i, record.packing, Buffer.from(record.bytes, 'base64').equals(stored[3])], [3, name, true])
    t.equal(JSON.parse((await get('/api/export?q=i+%3D+5')).text).i, 5)
    t.equal(JSON.parse((await get(`/api/content?seq=${seqs[3]}&form=shown`)).text).i, 3)
    t.equal((await get(`/api/content?seq=${seqs[3]}`)).headers['content-length'], String(stored[3].length))
    await log.close()
  }
})

test('what a compressed record would unpack to is limited, and what is not compressed is left as it is', async (t) => {
  const zlib = require('zlib')
  const bomb = zlib.gzipSync(Buffer.alloc(17 * 1024 * 1024))
  const log = promises(FlumeLog(newFile()))
  const seqs = []
  for (const record of [bomb, 'plain', ...Array.from({ length: 10 }, (_, i) => zlib.gzipSync(`{"a":${i}}`))]) seqs.push(await log.append(record))
  const { api } = await viewOf(t, log.log)
  const { rows } = await api('records')
  t.deepEqual(rows.map(({ kind }) => kind), ['hex', 'utf8', ...Array(10).fill('json')])
  t.equal((await api(`record?seq=${seqs[0]}`)).encoding, 'hex')
  await log.close()
})
