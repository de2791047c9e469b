'use strict'

const test = require('tape')
const { randomFrom } = require('../../../test/helpers/random')
const { isNode } = require('../../../test/helpers/runtime')
const { Buffer: Ours } = require('../lib/node/buffer')

const RUNS = 2000
const seed = Number(process.env.SEED ?? Date.now() % 1000000)

test(`Buffer does in a browser what it does in Node.js (SEED=${seed})`, { skip: !isNode && 'it is compared with that of Node.js' }, (t) => {
  const { below } = randomFrom(seed)
  for (let run = 0; run < RUNS; run++) {
    const bytes = Uint8Array.from({ length: 4 + below(20) }, () => below(run % 2 === 0 ? 256 : 128))
    const other = Uint8Array.from(bytes, byte => below(10) === 0 ? below(256) : byte)
    const [from, to] = [below(30) - 5, below(30) - 5]
    const at = below(bytes.length - 3)
    const [start, length] = [below(bytes.length), below(30)]
    const value = below(2 ** 32)
    const results = [Buffer, Ours].map((Class) => {
      const buffer = Class.from(bytes)
      const target = Class.alloc(12, 7)
      const written = Class.alloc(bytes.length)
      return JSON.stringify([
        Array.from(buffer.subarray(from, to)), Array.from(buffer.slice(from)), buffer.readUInt32LE(at), written.writeUInt32LE(value, at), Array.from(written), written.writeUInt8(value % 256, start), Array.from(written),
        buffer.copy(target, start % 12, start, start + length), Array.from(target), buffer.equals(Class.from(other)), buffer.compare(Class.from(other), at, bytes.length, start, bytes.length),
        buffer.toString('latin1'), buffer.toString('hex'), buffer.toString('latin1', start, start + length), buffer.toString('utf8', start, Math.min(bytes.length, start + length)), buffer.toString(), buffer.indexOf(0),
        Array.from(Class.concat([buffer, other])), Array.from(Class.from(buffer.toString())), Array.from(Class.from(buffer.toString('latin1'), 'latin1')), Class.byteLength(buffer.toString()), Array.from(Class.from(bytes.buffer, 1, 2)),
        buffer.compare(other), Array.from(Class.concat([buffer, other], length)), buffer.copy(target, 0, bytes.length - 1), Array.from(target)
      ])
    })
    if (results[0] !== results[1]) {
      t.equal(results[1], results[0], String(bytes))
      break
    }
  }
  for (const Class of [Buffer, Ours]) {
    t.throws(() => Class.alloc(4).readUInt32LE(1), RangeError)
    t.throws(() => Class.alloc(4).writeUInt32LE(1, 2), RangeError)
    t.throws(() => Class.alloc(4).toString('utf-9'), TypeError)
  }
  const memory = Ours.alloc(4)
  memory.subarray(1, 3).fill(1)
  t.deepEqual([...memory], [0, 1, 1, 0], 'a part has the same memory')
  t.ok(memory.subarray(1) instanceof Ours)
  t.end()
})
