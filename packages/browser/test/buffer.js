'use strict'

const native = require('buffer')
const test = require('tape')
const { randomFrom } = require('../../../test/helpers/random')
const { Buffer: Own, isAscii, isUtf8 } = require('../lib/node/buffer')

const RUNS = 3000
const MAX_LENGTH = 40
const LONG = 10000
const TEXTS = ['', 'text', 'Grüße, 世界 👋', '\uFEFFmark', '\uD800', '\x80\xff\0']
const seed = Number(process.env.SEED ?? Date.now() % 1000000)

/** What a call gives: bytes as an array, an error as its class. */
function resultOf (call) {
  try {
    const result = call()
    return ArrayBuffer.isView(result) ? [...result] : result
  } catch (err) {
    return err instanceof RangeError ? 'RangeError' : err
  }
}

test(`Buffer in a browser does what that of Node.js does (SEED=${seed})`, (t) => {
  const { below, pick } = randomFrom(seed)
  const calls = [
    ({ Class, bytes, other, from, to, at }) => Class.from(bytes).compare(Class.from(other), at, at + 2, from, to),
    ({ Class, bytes, other }) => [Class.from(bytes).compare(other), Class.from(bytes).equals(other), Class.from(bytes).equals(bytes)],
    ({ Class, bytes, other, from, to, at }) => {
      const target = Class.from(other)
      return [Class.from(bytes).copy(target, at, from, to), ...target]
    },
    ({ Class, bytes, other }) => Class.concat([bytes, Class.from(other), Class.alloc(3)]),
    ({ Class, bytes, from, to }) => Class.from(bytes).subarray(from, to),
    ({ Class, bytes, from }) => Class.from(bytes.buffer, bytes.byteOffset + Math.min(from, bytes.length), Math.max(0, bytes.length - from)),
    ({ Class, bytes, from, to }) => ['latin1', 'hex', 'utf8'].map(encoding => Class.from(bytes).toString(encoding, from, to)),
    ({ Class, text }) => [Class.byteLength(text), ...Class.from(text), ...Class.from(text, 'latin1')],
    ({ Class, bytes, text, at }) => {
      const buffer = Class.concat([bytes, Class.alloc(100)])
      const written = buffer.utf8Write(text, at)
      return [written, ...buffer, buffer.utf8Slice(at, at + written)]
    },
    ({ Class, bytes, at }) => Class.from(bytes).readUInt32LE(at),
    ({ Class, bytes, at, number }) => {
      const buffer = Class.from(bytes)
      return [buffer.writeUInt32LE(number, at), ...buffer]
    },
    ({ Class, bytes, at, number }) => {
      const buffer = Class.from(bytes)
      return [buffer.writeUInt16LE(number % 70000, at), buffer.writeUInt8(number % 300, at), ...buffer]
    }
  ]
  for (let run = 0; run < RUNS; run++) {
    const length = below(run % 100 === 0 ? LONG : MAX_LENGTH)
    const most = pick([128, 256])
    const memory = Uint8Array.from({ length: length + below(5) }, () => below(most))
    const bytes = memory.subarray(memory.length - length)
    const other = below(2) === 0 ? bytes.slice() : Uint8Array.from({ length: 2 + below(MAX_LENGTH) }, () => below(3))
    const from = below(length + 1)
    const given = { bytes, other, from, to: from + below(length - from + 1), at: below(Math.min(length, other.length - 1) + 1), text: pick(TEXTS), number: pick([below(300), below(70000), below(2 ** 32), 2 ** 32]) }
    for (const call of calls) {
      const [found, expected] = [Own, Buffer].map(Class => JSON.stringify(resultOf(() => call({ ...given, Class }))))
      if (found !== expected) return t.fail(`${call}: ${found} is not ${expected}, of ${JSON.stringify({ ...given, bytes: [...bytes], other: [...other] })}`)
    }
    if (isAscii(bytes) !== native.isAscii(bytes) || isUtf8(bytes) !== native.isUtf8(bytes)) return t.fail(`isAscii or isUtf8 of ${bytes}`)
  }
  t.pass(`${RUNS} runs`)
  t.end()
})
