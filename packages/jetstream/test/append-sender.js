'use strict'

// Appends to a simulated server, over connections that break at any moment: messages are lost, or arrive after they were sent again, and others
// store messages in between. Each record is stored once, in order, under the seq that was acknowledged.

const test = require('tape')
const { headers } = require('@nats-io/transport-node')
const { AppendSender } = require('../lib/append-sender')
const { randomNumbers } = require('../../../bench/helpers/records')

const RUNS = Number(process.env.TEST_RUNS ?? 200)
const RECORDS = 120
const OWN = 'S.own'

class Disconnected extends Error {}
class Refused extends Error {
  constructor ({ code, description }) {
    super(description)
    this.code = code
  }
}

/** A stream without replicas, as nats-server has it. */
class Stream {
  constructor () {
    /** @type {Array<{ seq: number, subject: string, text: string }>} */
    this.messages = []
    this.last = 0
    this.batches = new Map()
  }

  lastOf (subject) {
    return this.messages.findLast(message => message.subject === subject)?.seq ?? 0
  }

  /** @returns {object | null} the answer; null: none, to a message of a batch that is not its last one */
  receive ({ subject, text, head }) {
    const id = head.get('Nats-Batch-Id')
    if (id === '') return this.expects({ subject, head }) ?? { seq: this.store(subject, text) }
    const number = Number(head.get('Nats-Batch-Sequence'))
    if (number === 1) this.batches.set(id, [])
    const batch = this.batches.get(id)
    if (batch?.length !== number - 1) {
      this.batches.delete(id)
      return { error: { code: 10176, description: 'batch publish is incomplete' } }
    }
    batch.push({ subject, text, head })
    if (head.get('Nats-Batch-Commit') === '') return null
    this.batches.delete(id)
    return this.expects(batch[0]) ?? { seq: batch.map(({ subject, text }) => this.store(subject, text)).at(-1) }
  }

  /** @returns {object | null} an error if that is not so */
  expects ({ subject, head }) {
    const isSo = (name, actual) => head.get(name) === '' || Number(head.get(name)) === actual
    if (isSo('Nats-Expected-Last-Sequence', this.last) && isSo('Nats-Expected-Last-Subject-Sequence', this.lastOf(subject))) return null
    return { error: { code: 10071, description: 'wrong last sequence' } }
  }

  store (subject, text) {
    this.messages.push({ seq: ++this.last, subject, text })
    return this.last
  }
}

/** What a sender needs of a connection, and the network between it and the stream. */
class Network {
  /** @param {() => number} random */
  constructor (random) {
    this.random = random
    this.stream = new Stream()
    this.label = 'stream S'
    this.settings = { stream: 'S' }
    this.failure = null
    /** On their way, in order: messages and questions. */
    this.wire = []
    /** The same of connections that have broken. They may arrive any time, or never. */
    this.late = []
    this.pending = new Set()
    let ids = 0
    this.transport = { headers, nuid: { next: () => `id${++ids}-` }, TimeoutError: class extends Error {} }
    this.jetstream = { JetStreamApiError: Refused }
    this.nats = {
      publish: (subject, text, { headers: head }) => this.wire.push({ subject, text, head }),
      request: (subject, text, { headers: head }) => new Promise(resolve => this.wire.push({ subject, text, head, answer: (value) => resolve({ json: () => value }) }))
    }
    this.manager = {
      streams: {
        getMessage: (stream, { last_by_subj: subject }) => new Promise(resolve => this.wire.push({
          ask: () => {
            const seq = this.stream.lastOf(subject)
            return seq === 0 ? null : { seq }
          },
          answer: resolve
        }))
      }
    }
  }

  async connected () {}

  async pause () {}

  isTransient (err) {
    return err instanceof Disconnected
  }

  attempt (start) {
    return new Promise((resolve, reject) => {
      this.pending.add(reject)
      start().then(resolve, reject).finally(() => this.pending.delete(reject))
    })
  }

  async ask (start) {
    for (;;) {
      try {
        return await this.attempt(start)
      } catch (err) {
        if (!(err instanceof Disconnected)) throw err
      }
    }
  }

  /** One thing that happens. */
  step () {
    const dice = this.random()
    if (dice < 0.02) this.disconnect()
    else if (dice < 0.05) this.stream.store('S.other', 'of another writer')
    else if (dice < 0.2) this.arrive(this.late.shift(), this.random() < 0.5)
    else this.arrive(this.wire.shift(), true)
  }

  /** @param {any} message @param {boolean} isDelivered whether it is not lost */
  arrive (message, isDelivered) {
    if (message === undefined || !isDelivered) return
    const answer = message.ask === undefined ? this.stream.receive(message) : message.ask()
    // an answer to a connection that has broken reaches nobody
    if (answer !== undefined) message.answer?.(answer)
  }

  disconnect () {
    for (const { ask, answer, ...message } of this.wire.splice(0)) if (ask === undefined) this.late.push(message)
    for (const reject of [...this.pending]) reject(new Disconnected())
  }
}

/** The times that records take decide here: by chance. */
class RandomSender extends AppendSender {
  countAlone (count) {
    const dice = this.connection.random()
    return count === 1 || dice < 0.3 ? 0 : dice < 0.7 ? count : 1 + Math.floor(this.connection.random() * count)
  }
}

/** @param {number} seed */
async function run (seed) {
  const random = randomNumbers(seed)
  const network = new Network(random)
  const sender = new RandomSender(/** @type {any} */ (network), OWN, { writes: 0 }, false)
  /** @type {Map<number, string>} */
  const acknowledged = new Map()
  const state = { isOver: false }
  const appending = (async () => {
    for (let appended = 0; appended < RECORDS;) {
      const count = Math.min(1 + Math.floor(random() * 20), RECORDS - appended)
      const left = Array.from({ length: count }, (_, i) => `record ${appended + i}`)
      appended += count
      const mayDivide = random() < 0.8
      while (left.length > 0) {
        const stored = await sender.storeSome(/** @type {any} */ (left), mayDivide)
        left.splice(0, stored).forEach((text, i) => acknowledged.set(sender.last - stored + 1 + i, text))
      }
    }
  })().finally(() => { state.isOver = true })
  while (!state.isOver) {
    network.step()
    await new Promise(resolve => setImmediate(resolve))
  }
  await appending
  while (network.late.length > 0) network.arrive(network.late.shift(), true)
  const own = network.stream.messages.filter(({ subject }) => subject === OWN)
  const isWhole = own.length === RECORDS && own.every(({ text }, i) => text === `record ${i}`)
  const isAsSaid = acknowledged.size === RECORDS && own.every(({ seq, text }) => acknowledged.get(seq) === text)
  return isWhole && isAsSaid
}

test(`what is sent over connections that break is stored once, in order, as acknowledged: ${RUNS} runs`, async (t) => {
  const first = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 1e6))
  /** @type {number[]} */
  const wrong = []
  for (let seed = first; seed < first + RUNS; seed++) if (!await run(seed)) wrong.push(seed)
  t.deepEqual(wrong, [], `seeds from ${first} on`)
})
