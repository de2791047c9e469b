'use strict'

// A stream of a simulated server, and what reads it: what happens to it happens between two requests of the test's choice.

const { TurnBudget, OpenStreams } = require('flumelog-random-access-file/parts')
const { Connection } = require('../../lib/connection/connection')
const { Reader } = require('../../lib/read/reader')
const { ServerStream, ServerBatchStream } = require('../../lib/read/streams')
const { Tails } = require('../../lib/read/tails')

const NO_BYTES = Buffer.alloc(0)
const TIME = '2026-11-29T12:00:00Z'

class SimulatedStream {
  constructor () {
    /** By sequence, in order. @type {Map<number, Buffer>} */
    this.messages = new Map()
    this.first = 1
    this.last = 0
    /** Direct gets. */
    this.requests = 0
    /** Records in the answers to them. */
    this.given = 0
    /** Called before each question to the leader, and before each direct get, with its number. */
    this.onleader = () => {}
    this.onget = (/** @type {number} */ request) => {}
    const connection = this.connection = new Connection(/** @type {any} */ ({ stream: 'S', timeout: 60_000 }), 'stream S')
    connection.isConnected = true
    /** @type {Map<string, (err: null, message: any) => void>} */
    const inboxes = new Map()
    connection.nats = /** @type {any} */ ({
      options: {},
      subscribe: (/** @type {string} */ inbox, /** @type {{ callback: (err: null, message: any) => void }} */ { callback }) => {
        inboxes.set(inbox, callback)
        return { isClosed: () => false, unsubscribe: () => inboxes.delete(inbox) }
      },
      publish: (/** @type {string} */ subject, /** @type {string} */ query, /** @type {{ reply: string }} */ { reply }) => setImmediate(() => {
        this.onget(++this.requests)
        for (const message of this.answers(JSON.parse(query))) inboxes.get(reply)?.(null, { subject: reply, ...message })
      })
    })
    const found = (/** @type {number} */ seq) => this.messages.has(seq) ? { seq, data: this.messages.get(seq), time: new Date(TIME), subject: 'S.a', header: undefined } : null
    connection.manager = /** @type {any} */ ({
      direct: { getMessage: async (/** @type {string} */ stream, /** @type {{ seq: number }} */ { seq }) => found(seq) },
      streams: { getMessage: async (/** @type {string} */ stream, /** @type {{ seq: number }} */ { seq }) => found(this.from(seq)[0]) }
    })
    connection.streamInfo = async () => {
      this.onleader()
      return /** @type {any} */ ({ state: { first_seq: this.first, last_seq: this.last } })
    }
    this.reader = new Reader(connection)
    /** The last sequence that the log knows. */
    this.known = 0
    this.tails = new Tails(new TurnBudget())
    this.context = /** @type {any} */ ({
      reader: this.reader,
      lastSeq: () => this.known,
      tails: this.tails,
      delivered: async () => null,
      whenLogOpen: (/** @type {(err: null) => void} */ cb) => cb(null),
      whenOpen: (/** @type {(err: null) => void} */ cb) => cb(null),
      end: () => this.known + 1,
      filename: 'stream S',
      decode: null,
      takesText: false,
      keepsNoText: true,
      streams: new OpenStreams(),
      turn: this.tails.turn
    })
  }

  /** @param {Buffer} data @param {number} [count] */
  append (data, count = 1) {
    while (count-- > 0) this.messages.set(++this.last, data)
    this.known = this.last
    this.context.streams.resumeWaiting()
  }

  /** The server has lost what came after, which nobody had read. @param {number} last */
  loseAfter (last) {
    for (const seq of this.from(last + 1)) this.messages.delete(seq)
    this.last = last
  }

  /** @param {number} seq @returns {number[]} */
  from (seq) {
    return [...this.messages.keys()].filter(key => key >= seq)
  }

  /** @param {{ seq: number, batch: number, max_bytes: number }} query of a direct get */
  * answers ({ seq, batch, max_bytes: most }) {
    const seqs = this.from(seq).slice(0, batch)
    if (seqs.length === 0) return yield { data: NO_BYTES, headers: { code: 404 } }
    let [previous, bytes] = [0, 0]
    for (const seq of seqs) {
      const data = this.messages.get(seq)
      yield { data, headers: headersOf({ 'Nats-Sequence': seq, 'Nats-Time-Stamp': TIME, 'Nats-Last-Sequence': previous }) }
      this.given++
      previous = seq
      bytes += data.length
      if (bytes >= most) break
    }
    yield { data: NO_BYTES, headers: { code: 204, ...headersOf({ 'Nats-Last-Sequence': previous }) } }
  }

  /** @param {object} [options] */
  stream (options = {}) {
    return new ServerStream(this.context, options).source
  }

  /** @param {object} [options] */
  batches (options = {}) {
    return new ServerBatchStream(this.context, options).source
  }
}

/** @param {object} values by name */
function headersOf (values) {
  const get = (/** @type {string} */ name) => String(values[name])
  return { get, last: get }
}

/** @param {any} source @returns {Promise<any>} the next item, or how it ended */
const read = (source) => new Promise(resolve => source(null, (/** @type {any} */ end, /** @type {any} */ item) => resolve(end ?? item)))

/** @param {any} source @returns {Promise<any[]>} all items, and how it ended */
async function readAll (source) {
  const items = []
  do items.push(await read(source)); while (items.at(-1) !== true && !(items.at(-1) instanceof Error))
  return items
}

module.exports = { SimulatedStream, read, readAll }
