'use strict'

// Appends to a simulated server, over connections that break at any moment: what was sent before may arrive after it was sent again, and others
// store messages in between. Each record is stored once, in order, under the seq that was acknowledged, or not at all if its append got an error. The
// first one of a conditional append is stored right after the message of the condition. One with the key of another is not stored, and gets its seq.
// Of a batch for which there is no space, a server without replicas stores a part. Every call is answered once, also if there will be no connection any
// more, and whoever waits for appends when those before are.

const { EventEmitter } = require('events')
const test = require('tape')
const { headers } = require('@nats-io/transport-node')
const errors = require('../lib/errors')
const { Publisher } = require('../lib/write/publisher')
const { randomNumbers } = require('../../../bench/helpers/records')

const RUNS = Number(process.env.TEST_RUNS ?? 200)
const RECORDS = 120
const SERVER = 'n1'
const OWN = 'S.own'
const FULL = { code: 10047, description: 'insufficient storage resources' }

class Disconnected extends Error {}
class Late extends Error {}
class Refused extends Error {
  constructor ({ code, description }) {
    super(description)
    this.code = code
  }
}

/** A stream without replicas, as nats-server has it. */
class Stream {
  /** @param {() => number} random */
  constructor (random) {
    this.random = random
    /** All that were ever stored. @type {Array<{ seq: number, subject: string, text: string, isDeleted: boolean, isWithdrawn: boolean }>} */
    this.messages = []
    this.batches = new Map()
    /** Seqs by keys. @type {Map<string, number>} */
    this.keys = new Map()
    // with replicas, the server looks for the key first
    this.comparesKeysFirst = random() < 0.5
    this.isReplicated = false
    /** How often there is no space for a record, and for a batch. */
    this.fullRate = [0, 0.05, 0.05, 0.2][Math.floor(random() * 4)]
    /** Records that a batch may have. */
    this.mostTogether = random() < 0.3 ? 2 + Math.floor(random() * 8) : Infinity
  }

  get last () {
    return this.messages.length
  }

  get state () {
    return { last_seq: this.last, deleted: this.messages.filter(({ isDeleted }) => isDeleted).map(({ seq }) => seq) }
  }

  lastOf (filter, end = this.last) {
    return this.messages.findLast(message => message.seq <= end && isMatch(filter, message))?.seq ?? 0
  }

  from (seq, filter, end = this.last) {
    return this.messages.filter(message => message.seq >= seq && message.seq <= end && isMatch(filter, message))
  }

  /** @returns {object | null} the answer; null: none, to a message of a batch that is not its last one */
  receive ({ subject, text, head }) {
    const id = head.get('Nats-Batch-Id')
    if (id === '') return this.random() < this.fullRate ? { error: FULL } : this.receiveOne({ subject, text, head })
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
    if (batch.length > this.mostTogether) return { error: { code: 10199, description: `batch publish contains too many messages, exceeds ${this.mostTogether}` } }
    const refusal = this.expects(batch[0])
    if (refusal !== null || this.hasSpace) return refusal ?? { seq: batch.map(({ subject, text }) => this.store(subject, text)).at(-1) }
    // it says that there is no space when the first message comes, and otherwise nothing
    for (const { subject, text } of batch.slice(0, this.random() * batch.length)) this.store(subject, text)
    return this.random() < 0.5 ? null : { error: FULL }
  }

  /** Whether it has space for what comes next. A replicated one stores a batch as a whole. */
  get hasSpace () {
    return this.isReplicated || this.random() >= this.fullRate * 4
  }

  /** @returns {object} the answer */
  receiveOne ({ subject, text, head }) {
    const key = head.get('Nats-Msg-Id')
    const duplicate = this.keys.has(key) ? { seq: this.keys.get(key), duplicate: true } : null
    // another one with this key is being stored
    if (duplicate !== null && this.random() < 0.1) return { error: { code: 10158, description: 'duplicate message id is in process' } }
    const refusal = this.expects({ subject, head })
    const answer = this.comparesKeysFirst ? duplicate ?? refusal : refusal ?? duplicate
    if (answer !== null) return answer
    const seq = this.store(subject, text, key)
    if (key !== '') this.keys.set(key, seq)
    return { seq }
  }

  /** @returns {object | null} an error if that is not so */
  expects ({ subject, head }) {
    const last = head.get('Nats-Expected-Last-Sequence')
    if (last !== '' && Number(last) !== this.last) return { error: { code: 10071, description: 'wrong last sequence' } }
    const expected = head.get('Nats-Expected-Last-Subject-Sequence')
    if (expected === '') throw new Error('it expects nothing')
    if (Number(expected) === this.lastOf(head.get('Nats-Expected-Last-Subject-Sequence-Subject') || subject)) return null
    return { error: { code: 10071, description: 'wrong last sequence' } }
  }

  store (subject, text, key = '') {
    const seq = this.last + 1
    this.messages.push({ seq, subject, text, key, isDeleted: false, isWithdrawn: false })
    return seq
  }
}

/** @param {string | undefined} filter @param {{ subject: string, isDeleted: boolean }} message */
function isMatch (filter, { subject, isDeleted }) {
  if (isDeleted) return false
  if (filter === undefined) return true
  return filter.endsWith('.*') ? subject.startsWith(filter.slice(0, -1)) : subject === filter
}

/** What a publisher needs of a connection, and the network between it and the stream. */
class Network {
  /** @param {() => number} random */
  constructor (random) {
    this.random = random
    this.stream = new Stream(random)
    this.label = 'stream S'
    this.settings = { stream: 'S' }
    this.failure = null
    this.isConnected = true
    this.refusals = new EventEmitter().setMaxListeners(0)
    this.deleted = { add () {} }
    this.sending = 0
    this.requestTimeout = 60_000
    const { stream } = this
    this.identity = { get last () { return stream.last }, get isReplicated () { return stream.isReplicated }, note () {}, noteStored () {}, verify: async () => {} }
    /** On their way, in order: messages and questions. */
    this.wire = []
    /** The messages of each connection that has broken, in order. Some of the first of them may arrive any time. @type {any[][]} */
    this.late = []
    this.pending = new Set()
    /** Called when it is connected again, or never will be. @type {Array<(value?: any) => void>} */
    this.waiting = []
    /** Whether there is no server to connect to. */
    this.isDown = false
    /** Those that send records. */
    this.sent = new Set()
    this.inboxes = new Map()
    let ids = 0
    this.createInbox = () => `inbox${++ids}`
    this.recordOf = (/** @type {Buffer} */ data) => data
    this.transport = { headers, nuid: { next: () => 'own' }, TimeoutError: class extends Error {} }
    this.jetstream = { JetStreamApiError: Refused, JetStreamError: Refused }
    this.nats = {
      info: { server_name: SERVER },
      publish: (subject, text, { headers: head, reply } = {}) => this.wire.push(subject.startsWith('$')
        ? { ask: () => this.read(JSON.parse(text), reply) }
        : { subject, text, head, answer: (value) => { if (reply !== undefined) this.tell(reply, value) } }),
      request: (subject, text, { headers: head }) => new Promise(resolve => this.wire.push({ subject, text, head, answer: (value) => resolve({ json: () => value }) })),
      subscribe: (subject, { callback }) => {
        const inbox = subject.replace('.*', '')
        this.inboxes.set(inbox, callback)
        return { isClosed: () => false, unsubscribe: () => this.inboxes.delete(inbox) }
      }
    }
    this.manager = {
      getAccountInfo: () => new Promise(resolve => this.wire.push({
        ask: () => ({ storage: random() < 0.1 ? 1e6 : 0, limits: { max_storage: 1e6 } }),
        answer: resolve
      })),
      streams: {
        deleteMessage: (name, seq) => new Promise(resolve => this.wire.push({
          ask: () => Object.assign(stream.messages[seq - 1], { isDeleted: true, isWithdrawn: true }),
          answer: resolve
        })),
        getMessage: (name, { last_by_subj: last, seq: from, next_by_subj: next }) => new Promise(resolve => this.wire.push({
          ask: () => {
            // one of several servers may take itself for the leader, and lag behind
            const end = stream.isReplicated && this.random() < 0.3 ? this.stream.last - Math.floor(this.random() * 10) : this.stream.last
            const seq = last === undefined ? this.stream.from(from, next, end)[0]?.seq ?? 0 : this.stream.lastOf(last, end)
            if (next === undefined && last === undefined && seq !== from) return null
            if (seq === 0) return null
            const { subject, text, key } = this.stream.messages[seq - 1]
            return { seq, subject, data: Buffer.from(text), header: headersOf(key) }
          },
          answer: resolve
        }))
      }
    }
  }

  subscribe (subject, onmessage) {
    this.nats.subscribe(subject, { callback: (err, message) => { if (!err) onmessage(message) } })
  }

  /** @param {string} subject @param {any} value */
  tell (subject, value) {
    const data = Buffer.from(JSON.stringify(value))
    this.inboxes.get(subject.split('.')[0])?.(null, { subject, data, json: () => value })
  }

  /** A direct get. */
  read ({ seq, next_by_subj: filter, batch }, inbox) {
    const give = this.inboxes.get(inbox)
    let before = 0
    for (const message of this.stream.from(seq, filter).slice(0, batch)) {
      const head = headersOf(message.key)
      head.set('Nats-Sequence', String(message.seq))
      head.set('Nats-Last-Sequence', String(before))
      give?.(null, { data: Buffer.from(message.text), subject: inbox, headers: head })
      before = message.seq
    }
    give?.(null, { data: Buffer.alloc(0), headers: codeOf(before) })
  }

  async connected () {
    if (!this.isConnected && this.failure === null) await new Promise(resolve => this.waiting.push(resolve))
    if (this.failure !== null) throw this.failure
  }

  streamInfo () {
    return new Promise(resolve => this.wire.push({ ask: () => ({ state: this.stream.state }), answer: resolve }))
  }

  async hasMessage (seq) {
    const { state: { last_seq: last, deleted } } = await this.streamInfo()
    return seq <= last && !deleted.includes(seq)
  }

  async pause () {
    await this.connected()
  }

  refused (err) {
    return err.code === FULL.code ? errors.serverFull(this.label, err) : errors.refusedByServer(this.label, err)
  }

  isTransient (err) {
    return err instanceof Disconnected || err instanceof Late
  }

  attemptSending (bytes, start) {
    return this.attempt(() => new Promise((resolve, reject) => {
      this.sent.add(reject)
      start().then(resolve, reject).finally(() => this.sent.delete(reject))
    }))
  }

  attempt (start) {
    return new Promise((resolve, reject) => {
      if (!this.isConnected) return reject(this.failure ?? new Disconnected())
      this.pending.add(reject)
      start().then(resolve, reject).finally(() => this.pending.delete(reject))
    })
  }

  async ask (start) {
    for (;;) {
      await this.connected()
      try {
        return await this.attempt(start)
      } catch (err) {
        if (this.failure !== null) throw this.failure
        if (!this.isTransient(err)) throw err
      }
    }
  }

  /** One thing that happens. */
  step () {
    const dice = this.random()
    if (!this.isConnected && !this.isDown && this.random() < 0.3) this.connect()
    if (dice < 0.02) this.disconnect()
    else if (dice < 0.025) for (const reject of [...this.sent]) reject(new Late())
    else if (dice < 0.05) this.appendOther()
    else if (dice < 0.2) this.arriveLate()
    else this.arrive(this.wire.splice(this.nextIndex(), 1)[0])
  }

  /** A server has records wait for each other, and not questions for records. */
  nextIndex () {
    return this.random() < 0.2 ? Math.max(this.wire.findIndex(({ ask }) => ask !== undefined), 0) : 0
  }

  /** The log is closed, though appends are not answered. */
  fail () {
    this.failure = errors.closed(this.label)
    this.disconnect()
    this.connect()
    this.isConnected = false
  }

  connect () {
    this.isConnected = true
    for (const call of this.waiting.splice(0)) call()
  }

  /** Another writer stores a record, with a key or without one. */
  appendOther () {
    const key = this.random() < 0.3 ? `key ${Math.floor(this.random() * 30)}` : ''
    this.stream.receiveOne({ subject: 'S.other', text: 'of another writer', head: headersOf(key, this.stream.lastOf('S.other')) })
  }

  /** @param {any} message */
  arrive (message) {
    if (message === undefined) return
    if (message.ask !== undefined) return message.answer === undefined ? message.ask() : message.answer(message.ask())
    const answer = this.stream.receive(message)
    if (answer !== null) message.answer(answer)
  }

  /** An answer to a connection that has broken reaches nobody. */
  arriveLate () {
    const queue = this.late[Math.floor(this.random() * this.late.length)]
    const message = queue?.shift()
    if (message === undefined) return
    if (this.random() < 0.2) queue.length = 0
    else this.stream.receive(message)
  }

  disconnect () {
    this.isConnected = false
    this.late.push(this.wire.splice(0).filter(({ ask }) => ask === undefined))
    for (const reject of [...this.pending]) reject(this.failure ?? new Disconnected())
  }
}

/**
 * @param {string} key of a message; empty: none
 * @param {number} [last] what it expects
 */
function headersOf (key, last) {
  const head = headers()
  if (last !== undefined) head.set('Nats-Expected-Last-Subject-Sequence', String(last))
  if (key !== '') head.set('Nats-Msg-Id', key)
  return head
}

/** Headers without a message. @param {number} last sequence of an answer */
function codeOf (last) {
  return { code: last === 0 ? 404 : 204, description: '', get: () => String(last), last: () => '' }
}

/** @param {number} seed @returns {Promise<string | null>} what is wrong */
async function run (seed) {
  const random = randomNumbers(seed)
  const network = new Network(random)
  const publisher = new Publisher('stream S', { lastSeq: 0, advance () {} })
  const server = random() < 0.7 ? SERVER : null
  network.stream.isReplicated = server === null
  publisher.start(/** @type {any} */ (network), 'S', Infinity, server)
  const sender = /** @type {any} */ (publisher.sender)
  // the times that records take decide here: by chance
  sender.countAlone = () => !sender.isDirect || random() < 0.2 ? 0 : 1 + Math.floor(random() * 20)
  /** @type {Map<string, number | Error>} */
  const outcomes = new Map()
  let appended = 0
  /** The conditions of appends that are stored, by their first record. @type {Map<string, number>} */
  const conditions = new Map()
  /** Acknowledged appends with a key. @type {Array<{ key: string, text: string, seq: number }>} */
  const keyed = []
  /** What is wrong with an answer. @type {string | null} */
  let problem = null
  const answered = new Set()
  /** Calls that were made, by number. */
  let calls = 0
  /** @param {string[]} texts */
  const append = (texts) => {
    const call = calls++
    // the last message, one before it, or one that there is not yet
    const key = texts.length === 1 && random() < 0.3 ? `key ${Math.floor(random() * 30)}` : null
    const after = key === null && texts.length > 0 && random() < 0.3 ? network.stream.last + [0, 0, -1, 2][Math.floor(random() * 4)] : null
    const atomic = random() < 0.3
    publisher.publish(texts.map(text => Buffer.from(text)), atomic, { after, key }, (err, seq) => {
      if (answered.has(call)) problem ??= `${texts[0]} is answered twice`
      answered.add(call)
      if (!err && atomic && seq.length !== texts.length) problem ??= `${texts[0]} and so on have ${seq.length} seqs`
      texts.forEach((text, i) => outcomes.set(text, err ?? (atomic ? seq[i] : seq)))
      if (!err && key !== null) keyed.push({ key, text: texts[0], seq: [seq].flat()[0] })
      if (!err && after !== null) conditions.set(texts[0], after)
      if (random() < 0.2) appendSome()
    })
  }
  const appendSome = () => {
    const dice = random()
    const count = Math.min(dice < 0.1 ? 0 : dice < 0.7 ? 1 : 1 + Math.floor(random() * (dice < 0.95 ? 10 : 60)), RECORDS - appended)
    const texts = Array.from({ length: count }, (_, i) => `record ${appended + i}`)
    // in a callback, too
    appended += count
    append(texts)
  }
  const wait = () => {
    const before = calls++
    publisher.wait(() => {
      if (answered.has(before)) problem ??= `call ${before}, which waits, is answered twice`
      for (let call = 0; call < before; call++) if (!answered.has(call)) problem ??= `call ${before} waits, and is answered before ${call}`
      answered.add(before)
    })
  }
  const failsAt = random() < 0.2 ? Math.floor(random() * 1500) : Infinity
  const outage = random() < 0.5 ? 0 : 100
  for (let steps = 0; ; steps++) {
    if (appended === RECORDS && answered.size === calls) break
    if (steps > 200_000) return `${answered.size} of ${calls} are answered`
    if (appended < RECORDS && random() < 0.1) appendSome()
    if (appended < RECORDS && random() < 0.02) wait()
    if (steps === failsAt - outage) {
      network.isDown = true
      network.disconnect()
    }
    if (steps === failsAt) {
      network.fail()
      publisher.stop(/** @type {Error} */ (network.failure))
    }
    // by another program, of those that are acknowledged
    if (random() < 0.005) {
      const message = network.stream.messages.findLast(({ text }) => typeof outcomes.get(text) === 'number')
      if (message !== undefined) message.isDeleted = true
    }
    network.step()
    await new Promise(resolve => setImmediate(resolve))
  }
  if (problem !== null) return problem
  const { inFlight } = publisher.counts
  if (inFlight.records !== 0 || inFlight.bytes !== 0) return `${inFlight.records} records and ${inFlight.bytes} bytes are in flight`
  for (const queue of network.late) for (const message of queue) network.stream.receive(message)
  const own = network.stream.messages.filter(({ subject, isWithdrawn }) => subject.startsWith(OWN) && !isWithdrawn)
  const numbers = own.map(({ text }) => Number(text.toString().slice('record '.length)))
  if (numbers.some((number, i) => i > 0 && number <= numbers[i - 1])) return `the order is ${numbers.join(' ')}`
  const stored = new Map(own.map(({ text, seq }) => [text.toString(), seq]))
  for (const { key, text, seq } of keyed) {
    const message = network.stream.messages[seq - 1]
    if (message.key !== key || network.stream.keys.get(key) !== seq) return `${text} with ${key} was acknowledged as ${seq}, which is ${message.text} with ${message.key}`
    // the record is another one, with the same key
    if (message.text.toString() !== text) outcomes.delete(text)
    if (message.text.toString() !== text && stored.has(text)) return `${text} with ${key} is stored, and was acknowledged as an earlier one`
  }
  // an empty stream has no message 0
  for (const [text, after] of conditions) if (stored.get(text) !== Math.max(after, 0) + 1) return `${text} is stored as ${stored.get(text)}, not after ${after}`
  for (const [text, outcome] of outcomes) {
    const seq = stored.get(text)
    if (typeof outcome !== 'number') {
      if (seq !== undefined && outcome.code !== 'flumelog:unreachable') return `${text} got ${outcome.message}, and is stored`
    } else if (seq === undefined || seq > outcome) return `${text} was acknowledged as ${outcome}, and is stored as ${seq}`
  }
  return null
}

test(`what is sent over connections that break is stored once, in order, as acknowledged: ${RUNS} runs`, async (t) => {
  const first = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 1e6))
  /** @type {string[]} */
  const wrong = []
  for (let seed = first; seed < first + RUNS; seed++) {
    const problem = await run(seed)
    if (problem !== null) wrong.push(`seed ${seed}: ${problem}`)
  }
  t.deepEqual(wrong, [], `seeds from ${first} on`)
})
