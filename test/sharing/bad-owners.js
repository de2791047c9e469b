'use strict'

// What a client of a shared log does if its owner does not keep to docs/protocol.md.

const net = require('net')
const tape = require('tape')
const { open } = require('../../promises')
const { Address } = require('../../lib/sharing/address')
const { FrameReader } = require('../../lib/sharing/frame-reader')
const frames = require('../../lib/sharing/frames')
const { testFolder } = require('../helpers/folder')
const { frame, json, u32, u64 } = require('../helpers/raw-client')
const { codeOf } = require('../helpers/reading')

const GREETING = { version: frames.VERSION, checksum: true, isUnknown: false, blockSize: 65536, window: 1 << 20, runs: [], id: '0' }
const BAD_ERROR = { code: 'ENOSPC', message: { toString: 1 } }

const welcome = (changes = {}) => frames.encode(frames.WELCOME, { ...GREETING, ...changes })
const ack = (first, count, seq) => frame(frames.ACK, u64(first), u32(count), u64(seq))

/** What is said in the place of WELCOME. */
const GREETINGS = {
  'an ACK before WELCOME': ack(1, 1, 0),
  'a WELCOME that is not JSON': frame(frames.WELCOME, Buffer.from('{')),
  'a WELCOME of another version': welcome({ version: 1 }),
  'a WELCOME without runs': welcome({ runs: undefined }),
  'a WELCOME with a run without a number': welcome({ runs: [{ count: 1, seq: 0 }] }),
  'a WELCOME with a run of what was not sent': welcome({ runs: [{ first: 1, count: 1, seq: 0 }] }),
  'a WELCOME with blocks of 0 bytes': welcome({ blockSize: 0 }),
  'a WELCOME that does not say whether there are checksums': welcome({ checksum: null }),
  'a WELCOME without a window': welcome({ window: undefined }),
  'a WELCOME with an ACK right behind it': Buffer.concat([welcome(), ack(1, 1, 0)]),
  'a WELCOME with a CONFLICT right behind it': Buffer.concat([welcome(), frames.encode(frames.CONFLICT, { first: 1, count: 1, seq: -1, end: 0 })]),
  'a refusal without a reason': frames.encode(frames.REFUSED, {}),
  'a refusal for a reason that cannot be made a string': frame(frames.REFUSED, json({ error: BAD_ERROR })),
  'a WELCOME of more than 1 MiB': Buffer.concat([u32(2 ** 20 - 3), Buffer.from([frames.WELCOME])]),
  'a frame that is announced with 4 GB': Buffer.concat([u32(2 ** 32 - 1), Buffer.alloc(1)])
}

/** What is said in the place of ACK. */
const ANSWERS = {
  'an ACK of no records': ack(1, 0, 0),
  'an ACK of more records than were sent': ack(1, 2, 0),
  'an ACK of what was not sent': ack(2, 1, 0),
  'an ACK that is too short': frame(frames.ACK, u64(1)),
  'a NACK without an error': frames.encode(frames.NACK, {}),
  'a NACK with an error that is none': frames.encode(frames.NACK, { error: true }),
  'a NACK with an error without a code': frames.encode(frames.NACK, { error: { message: 'full' } }),
  'a NACK with an error that cannot be made a string': frame(frames.NACK, json({ error: BAD_ERROR })),
  'a CONFLICT of what has no condition': frames.encode(frames.CONFLICT, { first: 1, count: 1, seq: -1, end: 0 }),
  'a CONFLICT without an end': frames.encode(frames.CONFLICT, { first: 1, count: 1, seq: -1 }),
  'a REPLY without a number': frames.encode(frames.REPLY, {}),
  'a REPLY with an error that is none': frames.encode(frames.REPLY, { request: 1, error: 'full' })
}

/**
 * A log that is locked, with something else listening in the place of its owner.
 * @param {import('tape').Test} t
 * @param {(type: number, body: Buffer) => Buffer | null} answer
 */
async function badOwner (t, answer) {
  const file = testFolder(t)('log')
  const other = await open(file)
  const server = net.createServer((socket) => {
    const reader = new FrameReader((type, body) => {
      const bytes = answer(type, body)
      if (bytes !== null) socket.write(bytes)
    })
    socket.on('error', () => {}).on('data', chunk => reader.push(chunk))
  })
  await new Promise(resolve => server.listen(new Address(file).name, () => resolve(null)))
  return {
    file,
    id: other.flumelog.id,
    async close () {
      server.close()
      await other.close()
    }
  }
}

for (const [name, bytes] of Object.entries(GREETINGS)) {
  tape(`a log is not opened with ${name}`, async (t) => {
    const { file, close } = await badOwner(t, type => type === frames.HELLO ? bytes : null)
    t.equal(await codeOf(open(file, { shared: true })), 'flumelog:protocol')
    await close()
  })
}

for (const [name, bytes] of Object.entries(ANSWERS)) {
  tape(`nothing counts as stored because of ${name}`, async (t) => {
    const owner = await badOwner(t, (type) => type === frames.HELLO ? welcome({ id: owner.id }) : type === frames.APPEND ? bytes : null)
    const log = await open(owner.file, { shared: true })
    t.equal(await codeOf(log.append('a')), 'flumelog:protocol')
    t.equal(await codeOf(log.append('b')), 'flumelog:protocol', 'nor later')
    await codeOf(log.close())
    await owner.close()
  })
}
