'use strict'

// A copy that keeps the sequence, the time and the subject of each message.

const test = require('tape')
const { jetstream, jetstreamManager } = require('@nats-io/jetstream')
const { connect } = require('@nats-io/transport-node')
const FlumeLog = require('flumelog-random-access-file')
const { pull, envelope } = require('..')
const { Pulling } = require('./helpers/pulling')
const { withServer, streamName } = require('./helpers/nats')
const { testFolder } = require('../../../test/helpers/folder')
const { promises } = require('../../../test/helpers/promises')
const { codeOf, collect } = require('../../../test/helpers/reading')
const { flumelog } = require('../../../test/helpers/warm-flumelog')

/** More than what is read without a consumer. */
const MANY = 12_000

test('the codec of an envelope is that of its data, too', (t) => {
  const message = { seq: 1, time: 2, subject: 'a.ä', value: { text: 'line\nline' } }
  const codec = envelope('json')
  t.deepEqual(codec.decode(codec.encode(message)), message)
  const bytes = { ...message, value: Buffer.from([0, 10, 255]) }
  t.deepEqual(envelope().decode(envelope().encode(bytes)), bytes)
  t.end()
})

withServer('a copy with envelopes', (shared) => {
  test('each record says the sequence, time and subject of its message, whichever way that was read', async (t) => {
    const stream = streamName()
    const servers = shared.server.url
    const nats = await connect({ servers })
    const manager = await jetstreamManager(nats)
    await manager.streams.add({ name: stream, subjects: [`${stream}.>`], allow_direct: true })
    const client = jetstream(nats)
    const publish = async (from, to) => {
      const numbers = Array.from({ length: to - from + 1 }, (_, i) => from + i)
      await Promise.all(numbers.map(number => client.publish(`${stream}.ä${number % 3}`, JSON.stringify(number), { timeout: 60_000 })))
    }
    const expected = async () => {
      const messages = []
      for await (const { seq, time, subject, data } of await manager.direct.getBatch(stream, { seq: 1, batch: 2 * MANY })) {
        messages.push({ seq, time: time.getTime(), subject, value: JSON.parse(Buffer.from(data).toString()) })
      }
      return messages
    }
    const file = testFolder(t)('copy')
    const options = { codec: envelope('json') }
    const pullOnce = async (more = { envelope: true }) => {
      const copy = promises(FlumeLog(file, options))
      try {
        await pull({ servers, stream }, copy.log, { live: false, ...more })
        return await collect(copy.log, { seqs: false })
      } finally {
        await copy.close()
      }
    }
    await publish(1, MANY)
    t.deepEqual(await pullOnce(), await expected(), 'by consumers')
    await publish(MANY + 1, MANY + 20)
    t.deepEqual(await pullOnce(), await expected(), 'by requests')
    const pulling = new Pulling(shared.server, stream, file, options, { envelope: true })
    await pulling.until(({ lag }) => lag === 0)
    await publish(MANY + 21, MANY + 40)
    await pulling.until(({ seq }) => seq === MANY + 40)
    t.equal(await pulling.stop(), 'stopped')
    await manager.streams.deleteMessage(stream, 7)
    await manager.streams.deleteMessage(stream, MANY + 30)
    const copied = await pullOnce()
    t.deepEqual(copied, await expected(), 'live, and what is deleted')
    t.equal(await codeOf(pullOnce({})), 'flumelog:invalid', 'it cannot be pulled on without')

    const copy = promises(FlumeLog(file, { ...options, readOnly: true }))
    const { time } = copied[MANY]
    const found = await new Promise((resolve, reject) => copy.log.search((message) => message.time - time, (err, seq, value) => err ? reject(err) : resolve(value)))
    t.equal(found.seq, copied.find(message => message.time >= time).seq, 'the first one of a time is found')
    await copy.close()
    const { code, stderr } = await flumelog(['pull', `${servers}/${stream}`, file, '--no-live', '--envelope'])
    t.equal(code, 0, stderr)
    await nats.close()
  })
})
