'use strict'

// A named position in a stream: a durable consumer, which the servers keep. Several processes may hold it; each record is given to one of them, and
// to another one if it is not committed in time. So a cursor that one process holds works as in a file, and one that several hold shares the work.
//
// Records are asked for in small numbers, by a request at a time: those that wait here count as given, and time passes for them, too.

const { callbacks: { mustBeFunction, optional }, format, optionNames } = require('flumelog-random-access-file/blocks')
const { streamRangeOf } = require('flumelog-random-access-file/parts')
const errors = require('../errors')
const { isDenied, REQUEST_TIMEOUT } = require('../connection/connection')
const { failed } = require('../read/merge')

/** Milliseconds for which a request for records waits at the server. */
const EXPIRES = 5000
/** Records of the first request; twice as many if they were done in less than a share of the time that they have, half as many after more. */
const FIRST_SIZE = 1
const MAX_SIZE = 64
const SHORT = 1 / 16
const LONG = 1 / 4
/** Of the time that a record has until it is to be committed: after waiting here for so long, it is given back. */
const STALE = 1 / 2
/** Codes of an answer without a record: there is none now, until the request expired. */
const NOTHING = 404
const EXPIRED = 408
/** Another answer; none; the connection has broken. */
const OTHER = 1
const SILENT = 0
const DISCONNECTED = -1
/** Requests that were not answered in time, and whose answers are still waited for. */
const MAX_LATE = 16
/** What else the server says when it gives no record now: as many are in flight as may be. */
const FULL = /MaxAckPending/i

const checkStreamNames = optionNames('stream of a cursor', ['live', 'limit', 'seqs', 'values'])
const checkCommitNames = optionNames('commit', ['sync'])

/**
 * @typedef {object} Delivery
 * @property {number} seq
 * @property {Buffer} data
 * @property {string} reply the subject that takes its acknowledgement
 * @property {number} at when it was received
 * @property {Promise<void> | null} acknowledged null: it is not committed
 *
 * @typedef {object} Request
 * @property {number} missing
 * @property {number} received
 * @property {Promise<number>} ended with this code
 * @property {(code: number) => void} end
 * @property {() => Promise<void>} cancel
 *
 * @typedef {{ live: boolean, isOver: boolean, wake: () => void }} Reader
 */

class DurableCursor {
  /**
   * @param {import('../stream-log').StreamLog} log
   * @param {string} name
   * @param {import('./cursor-consumer').CursorOptions} options
   */
  constructor (log, name, options) {
    this.log = log
    this.connection = log.connection
    this.name = name
    this.options = options
    /** Sequence of the last record that was committed, as far as is known here; undefined until it is open. @type {number | undefined} */
    this.seq = undefined
    /** When the consumer was created; undefined until it is open. @type {string | undefined} */
    this.created = undefined
    /** Milliseconds that a record may take. */
    this.commitWithin = 0
    /** Those that are at the server. @type {Set<Request>} */
    this.requests = new Set()
    /** Of those that were not answered in time, oldest first. @type {import('@nats-io/transport-node').Subscription[]} */
    this.late = []
    /**
     * What readers that are live wait for, and what others do: whether there is nothing to be given now. For a live one, that takes as long as it takes.
     * @type {Map<boolean, Promise<boolean>>}
     */
    this.asking = new Map()
    this.size = FIRST_SIZE
    /** When the records of the last request came. */
    this.receivedAt = 0
    // by seq, so that a record that the server gives again takes the place of its first delivery
    /** Received, and not given yet. @type {Map<number, Delivery>} */
    this.waiting = new Map()
    /** Given, and not committed, in the order in which they were given. @type {Map<number, Delivery>} */
    this.given = new Map()
    /** Given by streams that have ended, and in `waiting`, too, since the next one gives them again; what was given by those can still be committed. @type {Map<number, Delivery>} */
    this.givenBefore = new Map()
    /** The greatest sequence that was given. */
    this.greatest = -1
    /** @type {Set<Reader>} */
    this.readers = new Set()
    /** Settled when all commits are answered. @type {Promise<unknown>} */
    this.commits = Promise.resolve()
    /** Settled when the server has what was given back. @type {Promise<unknown>} */
    this.returns = Promise.resolve()
    /** @type {Promise<void> | null} */
    this.closing = null
    this.members = this.createMembers()
    this.opening = this.open()
    this.opening.catch(() => {})
  }

  async open () {
    await new Promise((resolve, reject) => this.log.whenOpen(err => err ? reject(err) : resolve(undefined)))
    // most programs have no cursors
    const { openConsumer } = require('./cursor-consumer')
    const { created, config, ack_floor: { stream_seq: seq } } = await openConsumer(this.connection, this.name, this.options)
    this.created = created
    this.commitWithin = Number(config.ack_wait) / 1e6
    this.seq = seq === 0 ? -1 : seq
    return this.seq
  }

  // Reading

  /**
   * @param {any} options
   * @param {boolean} isBatched
   * @returns {import('../read/merge').Source<any>} a pull-stream source
   */
  source (options, isBatched) {
    try {
      checkStreamNames(options)
      // the limit is an integer
      streamRangeOf({ limit: options.limit }, 0)
    } catch (err) {
      return failed(err)
    }
    const { live = false, limit = 0, seqs = true, values = true } = options
    const { codec } = this.log
    /** @type {Reader} */
    const reader = { live, isOver: false, wake: () => {} }
    let isStarted = false
    /** Of its last answer. @type {Delivery[]} */
    let taken = []
    let left = limit > 0 ? limit : Infinity
    const itemOf = (/** @type {Delivery} */ { seq, data }) => {
      const value = values ? codec.valueOf(data, seq) : undefined
      return seqs && values ? { seq, value } : values ? value : seq
    }
    /** @param {Delivery[]} deliveries @returns {any[]} of those before the first one that cannot be decoded; of that, its error is thrown */
    const itemsOf = (deliveries) => {
      /** @type {any[]} */
      const items = []
      try {
        for (const delivery of deliveries) items.push(itemOf(delivery))
      } catch (err) {
        if (items.length === 0) throw err
      }
      return items
    }
    const take = () => {
      const deliveries = firstOf(this.waiting, isBatched ? left : 1)
      const items = itemsOf(deliveries)
      left -= items.length
      taken = deliveries.slice(0, items.length)
      for (const delivery of taken) this.give(delivery)
      return items
    }
    const start = () => {
      isStarted = true
      // as a stream of a cursor in a file, it starts with what is not committed
      if (this.readers.size === 0) this.restart()
      this.readers.add(reader)
    }
    const finish = () => {
      reader.isOver = true
      reader.wake()
      this.readers.delete(reader)
      if (this.readers.size === 0) this.cancelRequests()
    }
    const source = (/** @type {any} */ abort, /** @type {(end: any, item?: any) => void} */ cb) => {
      if (abort) {
        finish()
        if (cb) cb(abort)
        return
      }
      if (!isStarted) start()
      const answered = left === 0 ? Promise.resolve(null) : this.receive(reader, take)
      answered.then((items) => {
        if (items !== null) return process.nextTick(cb, null, isBatched ? items : items[0])
        finish()
        process.nextTick(cb, true)
      }, (err) => {
        finish()
        process.nextTick(cb, this.closing === null ? this.log.refusal ?? err : true)
      })
    }
    return Object.assign(source, { unread: () => this.takeBack(taken) })
  }

  /**
   * Waits for records that can be given.
   * @template T
   * @param {Reader} reader
   * @param {() => T} take called when there are some: nobody else may take them in between
   * @returns {Promise<T | null>} what it returns; null: it ends
   */
  async receive (reader, take) {
    await this.opening
    await this.returns
    const { connection: { deleted } } = this
    const { live } = reader
    const startedAt = performance.now()
    for (;;) {
      if (reader.isOver || this.closing !== null) return null
      // since they were received
      const gone = [...this.waiting.values()].filter(({ seq }) => deleted.has(seq))
      if (gone.length > 0) {
        for (const { seq } of gone) this.waiting.delete(seq)
        await this.acknowledge(gone)
        continue
      }
      const [first] = firstOf(this.waiting, 1)
      if (first !== undefined && performance.now() - first.at > this.commitWithin * STALE) {
        this.giveBack([...this.waiting.values()])
        this.waiting.clear()
        this.givenBefore.clear()
        await this.returns
        continue
      }
      if (first !== undefined) return take()
      const { asking } = this
      const asked = asking.get(live)
      // of a question that was asked before, the answer may be an old one
      const answered = asked?.then(() => false, () => false) ?? this.askForMore(live, startedAt).finally(() => asking.delete(live))
      if (asked === undefined) asking.set(live, answered)
      const arrived = new Promise(resolve => { reader.wake = () => resolve(false) })
      const isNothing = await Promise.race([arrived, answered])
      if (isNothing && !live && this.waiting.size === 0) return null
    }
  }

  /**
   * @param {boolean} isLive
   * @param {number} startedAt when its reader asked
   * @returns {Promise<boolean>} whether the server has nothing to give now
   */
  async askForMore (isLive, startedAt) {
    const { connection, connection: { settings: { timeout }, label } } = this
    // otherwise, the first question waits, for as long as it may
    if (isLive) await connection.connected()
    this.adaptSize()
    // to one for more than may be given, the server would not answer until others have committed
    const batch = isLive ? this.size : Math.min(this.size, await this.countRoom())
    if (batch <= 0) return true
    // what nobody waits for would count as given
    if (this.readers.size === 0 || this.closing !== null) return false
    const sentAt = performance.now()
    /** @type {Request | undefined} */
    let request
    let code = SILENT
    try {
      code = await connection.attempt(() => {
        request = this.sendRequest(batch, isLive)
        return request.ended
      })
    } catch (err) {
      if (isDenied(err)) throw connection.refused(err)
      code = DISCONNECTED
      request?.end(code)
    }
    const received = request?.received ?? 0
    if (connection.failure !== null) throw connection.failure
    if (code === NOTHING || code === EXPIRED) return received === 0
    if (received > 0) return false
    // no answer, or the server that had the consumer is none any more; or it was deleted
    if (code === SILENT) connection.leaveIfSilent(sentAt)
    if (!isLive && performance.now() - startedAt > timeout) throw errors.serverUnreachable(label, timeout, null)
    await connection.pause(isLive ? Infinity : startedAt + timeout)
    if (code > 0) await this.info(isLive)
    return false
  }

  /** @returns {Promise<number>} how many records may be given now */
  async countRoom () {
    const { num_ack_pending: given, config } = await this.info()
    return Number(config.max_ack_pending) - given
  }

  /**
   * @param {boolean} [isPatient] whether to wait for a server for as long as it takes
   * @returns {Promise<import('./cursor-consumer').ConsumerInfo>} of the consumer that was opened. Rejects with `flumelog:replaced` if the server does not have it any more
   */
  async info (isPatient) {
    const { connection, connection: { manager, label, settings: { stream } }, created } = this
    const info = await connection.ask(() => manager.consumers.info(stream, this.name), isPatient).catch((err) => { throw this.failureOf(err) })
    if (info.created !== created) throw errors.cursorLost(label, this.name, new Error(`another one was created at ${info.created}`))
    return info
  }

  /**
   * @param {number} batch records
   * @param {boolean} isLive
   * @returns {Request}
   */
  sendRequest (batch, isLive) {
    const { connection, connection: { settings: { stream }, nats } } = this
    const subject = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${this.name}`
    const inbox = connection.createInbox()
    // without it, the server gives nothing more to this request
    const subscription = nats.subscribe(inbox, { callback: (err, message) => err ? refuse(err) : this.onmessage(message, request) })
    /** @type {(code: number) => void} */
    let resolve = noop
    /** @type {(err: Error) => void} */
    let reject = noop
    const refuse = (/** @type {Error} */ err) => {
      reject(err)
      request.end(OTHER)
    }
    connection.refusals.once(`publish ${subject}`, refuse)
    const endAfter = (/** @type {number} */ milliseconds) => setTimeout(() => request.end(SILENT), milliseconds)
    let timer = endAfter((isLive ? EXPIRES : 0) + REQUEST_TIMEOUT)
    /** @type {Request} */
    const request = {
      missing: batch,
      received: 0,
      ended: new Promise((...functions) => { [resolve, reject] = functions }),
      end: (code) => {
        clearTimeout(timer)
        connection.refusals.off(`publish ${subject}`, refuse)
        this.requests.delete(request)
        // an answer that is late is taken, too
        if (code === SILENT) this.keepLate(subscription)
        else if (!subscription.isClosed()) subscription.unsubscribe()
        resolve(code)
      },
      cancel: async () => {
        // otherwise, the server answers at once; what it gives to nobody counts as given, too
        if (isLive) {
          clearTimeout(timer)
          timer = endAfter(REQUEST_TIMEOUT)
          connection.attempt(() => subscription.drain()).then(() => request.end(EXPIRED), () => request.end(DISCONNECTED))
        }
        await request.ended
      }
    }
    this.requests.add(request)
    const query = { batch, ...(isLive ? { expires: EXPIRES * 1e6 } : { no_wait: true }) }
    nats.publish(subject, JSON.stringify(query), { reply: inbox })
    return request
  }

  /** Nobody waits for records any more: those that are on their way count as given. */
  cancelRequests () {
    if (this.requests.size === 0) return
    const cancelled = [...this.requests].map(request => request.cancel())
    this.requests.clear()
    this.returns = settled([this.returns, ...cancelled])
  }

  /** @param {import('@nats-io/transport-node').Subscription} subscription which a server that hangs for days must not make more and more of */
  keepLate (subscription) {
    this.late.push(subscription)
    if (this.late.length > MAX_LATE) this.endLate(1)
  }

  /** @param {number} count of subscriptions, the oldest ones */
  endLate (count) {
    for (const subscription of this.late.splice(0, count)) if (!subscription.isClosed()) subscription.unsubscribe()
  }

  /** @param {any} err @returns {Error} */
  failureOf (err) {
    const { connection: { failure, label } } = this
    return failure ?? (err.code === 'flumelog:unreachable' || isDenied(err.cause) ? err : errors.cursorLost(label, this.name, err))
  }

  adaptSize () {
    if (this.receivedAt === 0) return
    const took = performance.now() - this.receivedAt
    if (took < this.commitWithin * SHORT) this.size = Math.min(this.size * 2, MAX_SIZE)
    else if (took > this.commitWithin * LONG) this.size = Math.max(1, Math.floor(this.size / 2))
    this.receivedAt = 0
  }

  /**
   * @param {import('@nats-io/transport-node').Msg} message
   * @param {Request} request of which it is an answer
   */
  onmessage ({ data, reply, headers }, request) {
    // one without a reply subject says that there is nothing more, or why not
    if (!reply) return request.end(FULL.test(headers?.description ?? '') ? NOTHING : headers?.code || OTHER)
    // $JS.ACK…<how often>.<sequence>.<number>.<time>.<pending>, and one more if the server names its domain
    const tokens = reply.split('.')
    const seq = Number(tokens[tokens.length > 9 ? 7 : 5])
    const delivery = { seq, data: Buffer.from(data.buffer, data.byteOffset, data.length), reply, at: performance.now(), acknowledged: null }
    this.waiting.set(seq, delivery)
    this.receivedAt = delivery.at
    request.received++
    if (--request.missing === 0) request.end(EXPIRED)
    for (const { wake } of this.readers) wake()
  }

  // Committing

  /**
   * @param {number} seq
   * @param {any} options
   * @param {any} [callback]
   */
  commit (seq, options, callback) {
    const cb = optional(typeof options === 'function' ? options : callback) ?? noop
    const { log: { filename } } = this
    try {
      if (typeof options !== 'function') checkCommitNames(options ?? {})
      if (this.closing !== null || this.log.refusal !== null) throw errors.closed(filename)
      if (!Number.isSafeInteger(seq)) throw errors.invalid(`commit takes the seq of a record; it is ${format(seq)}`)
      if (seq > this.greatest) throw errors.invalid(`${filename}: the cursor '${this.name}' has not given the record ${seq} in this process`)
    } catch (err) {
      return process.nextTick(cb, err)
    }
    const acknowledged = Promise.all(this.upTo(seq).map(delivery => this.finishOne(delivery)))
    this.commits = settled([this.commits, acknowledged])
    this.commits.then(() => acknowledged).then(() => {
      this.seq = Math.max(Number(this.seq), seq)
      process.nextTick(cb, null)
    }, err => process.nextTick(cb, this.log.refusal ?? err))
  }

  /** @param {number} seq @returns {Delivery[]} those that a commit of it is about: that record, and what was given before it. None: it is committed */
  upTo (seq) {
    const given = [...(this.given.has(seq) ? this.given : this.givenBefore).values()]
    return given.slice(0, given.findIndex(delivery => delivery.seq === seq) + 1)
  }

  /**
   * @param {Delivery} delivery which stays where it is until the server knows that it is done: otherwise, the commit can be repeated
   * @returns {Promise<void>}
   */
  finishOne (delivery) {
    const { seq } = delivery
    delivery.acknowledged ??= this.acknowledge([delivery]).then(() => {
      for (const deliveries of [this.given, this.givenBefore, this.waiting]) deliveries.delete(seq)
    }, (err) => {
      delivery.acknowledged = null
      throw err
    })
    return delivery.acknowledged
  }

  /** @param {Delivery[]} deliveries which are not given again then */
  async acknowledge (deliveries) {
    await Promise.all(deliveries.map(delivery => this.connection.ask(() => this.acknowledgeOne(delivery))))
  }

  /** @param {Delivery} delivery */
  async acknowledgeOne ({ seq, reply }) {
    const { nats, manager, settings: { stream } } = this.connection
    try {
      await nats.request(reply, '+ACK', { timeout: REQUEST_TIMEOUT })
    } catch (err) {
      const { delivered } = await manager.consumers.info(stream, this.name)
      // a server that was killed may not know that it has given the record: it gives it again, and answers no acknowledgement until then
      if (delivered.stream_seq >= seq) throw err
    }
  }

  /** @param {Delivery} delivery */
  give (delivery) {
    const { seq } = delivery
    this.waiting.delete(seq)
    this.givenBefore.delete(seq)
    this.given.set(seq, delivery)
    this.greatest = Math.max(this.greatest, seq)
  }

  /** @param {Delivery[]} deliveries that were given, and passed on to nobody: a commit of a later one is none of them */
  takeBack (deliveries) {
    const kept = deliveries.filter(delivery => this.given.get(delivery.seq) === delivery)
    for (const { seq } of kept) this.given.delete(seq)
    this.waiting = new Map([...kept.map(delivery => /** @type {const} */ ([delivery.seq, delivery])), ...this.waiting])
    for (const { wake } of this.readers) wake()
  }

  /** All that is not committed waits, in the order of the stream, as if it had not been given. */
  restart () {
    const given = [...this.given].filter(([, { acknowledged }]) => acknowledged === null)
    for (const [seq] of given) this.given.delete(seq)
    this.givenBefore = new Map([...this.givenBefore, ...given])
    // what was received last is the newer delivery
    this.waiting = new Map([...given, ...this.waiting].sort(([a], [b]) => a - b))
  }

  /** @param {Delivery[]} deliveries which others may have at once, in this order */
  giveBack (deliveries) {
    const { connection, connection: { nats } } = this
    // what is lost is given again later
    const returned = deliveries.map(({ reply }) => connection.attempt(() => nats.request(reply, '-NAK', { timeout: REQUEST_TIMEOUT })))
    if (returned.length > 0) this.returns = settled([this.returns, ...returned])
  }

  // Ends

  /** @returns {Promise<void>} settled when all commits are answered, and what is left is given to others */
  close () {
    this.closing ??= this.finish()
    return this.closing
  }

  async finish () {
    await this.commits
    for (const { wake } of this.readers) wake()
    this.cancelRequests()
    await this.returns
    this.endLate(Infinity)
    this.restart()
    this.giveBack([...this.waiting.values()])
    await this.returns
    this.log.forgetCursor(this)
  }

  /** @returns {any} the members that callers have */
  createMembers () {
    const cursor = this
    return {
      name: this.name,
      get seq () { return cursor.seq },
      stream: (/** @type {any} */ options) => this.source(options ?? {}, false),
      batches: (/** @type {any} */ options) => this.source(options ?? {}, true),
      commit: (/** @type {number} */ seq, /** @type {any} */ options, /** @type {any} */ cb = undefined) => this.commit(seq, options, cb),
      onReady: (/** @type {any} */ cb) => {
        mustBeFunction('the callback', cb)
        this.opening.then(seq => process.nextTick(cb, null, seq), err => process.nextTick(cb, err))
      },
      close: (/** @type {any} */ cb) => {
        const done = optional(cb) ?? noop
        this.close().then(() => process.nextTick(done, null))
      }
    }
  }
}

/** @param {Map<number, Delivery>} deliveries @param {number} count @returns {Delivery[]} */
function firstOf (deliveries, count) {
  /** @type {Delivery[]} */
  const first = []
  for (const delivery of deliveries.values()) {
    if (first.length >= count) break
    first.push(delivery)
  }
  return first
}

/**
 * @param {Array<Promise<unknown>>} promises
 * @returns {Promise<void>} settled when all of them are; without their outcomes, in which those of all calls before would be
 */
async function settled (promises) {
  await Promise.allSettled(promises)
}

function noop () {}

module.exports = { DurableCursor }
