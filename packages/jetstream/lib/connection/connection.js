'use strict'

// The connection to the servers. It reconnects by itself, for as long as it takes. What was sent before it broke may or may not have
// arrived, so every request then fails at once, and is decided anew by whoever made it.

const jetstream = require('@nats-io/jetstream')
const transport = require('@nats-io/transport-node')
const { EventEmitter } = require('events')
const { authenticatorOf, checkTls } = require('./credentials')
const errors = require('../errors')
const { enveloped } = require('../envelope')
const { DeletedMessages } = require('../write/deleted-messages')
const { hasMajority } = require('./majority')
const { StreamIdentity, Behind } = require('./stream-identity')

/** Milliseconds. A stream without a leader does not answer at all, so what is asked then is asked again soon. */
const REQUEST_TIMEOUT = 2000
/** A server that hangs still accepts connections. */
const CONNECT_TIMEOUT = 2000
const RECONNECT_DELAY = 100
const RETRY_DELAY = 50
/** Until a server that does not answer is left for another one. */
const PATIENCE = 4000
/** A server that hangs is noticed after two of them, even if nothing is asked. */
const PING_INTERVAL = 5000
/** Bytes per millisecond: a line that carries less is as good as none. */
const SLOWEST_LINE = 16
/** Bytes that any line carries at once. */
const SMALL = 16 * 1024

/** @typedef {import('../options').Settings} Settings */

class Connection {
  /**
   * @param {Settings} settings
   * @param {string} label of the log, for errors
   */
  constructor (settings, label) {
    this.transport = transport
    this.jetstream = jetstream
    this.settings = settings
    this.label = label
    /** Once it is connected for the first time. @type {import('@nats-io/transport-node').NatsConnection} */
    this.nats = /** @type {any} */ (null)
    /** @type {import('@nats-io/jetstream').JetStreamManager} */
    this.manager = /** @type {any} */ (null)
    this.isConnected = false
    /** Of the client: it is connected, it is not. @type {any} */
    this.statuses = null
    /** That are there as long as this is. @type {import('@nats-io/transport-node').Subscription[]} */
    this.subscriptions = []
    /** How often it was connected. */
    this.connects = 0
    this.identity = new StreamIdentity(this)
    this.deleted = new DeletedMessages()
    /** Why it will not be connected again. @type {Error | null} */
    this.failure = null
    /** Requests that wait for an answer. @type {Set<(err: Error) => void>} */
    this.pending = new Set()
    /** Called when it is connected again, or never will be. @type {Set<() => void>} */
    this.waiting = new Set()
    this.reconnects = 0
    /** Emits, by its subject, that this user may not publish something: the server says so by itself, to no subscription. */
    this.refusals = new EventEmitter().setMaxListeners(0)
    /** Bytes of data that may be on their way to the server, so that whatever is asked waits behind them. */
    this.sending = 0
    /** When this server was connected to, or left. */
    this.connectedAt = 0
    this.onfailure = (/** @type {Error} */ err) => { this.failure = err }
    /** Called with the last sequence of the stream when that is known to be the one that was opened, over a new connection. */
    this.onverified = (/** @type {number} */ last) => {}
  }

  /** Connects for the first time. */
  async open () {
    const { settings: { connection } } = this
    if (connection === undefined) await this.connect()
    else if (connection.isClosed()) throw errors.invalidAccess(this.label, 'the connection is closed', undefined)
    else this.nats = connection
    this.isConnected = true
    this.connectedAt = performance.now()
    this.manager = await this.jetstream.jetstreamManager(this.nats, { checkAPI: false, timeout: REQUEST_TIMEOUT })
    this.watch()
    this.nats.closed().then((err) => this.fail(err ? this.refused(err) : errors.closed(this.label)))
  }

  async connect () {
    const { settings: { timeout } } = this
    const options = this.clientOptions()
    for (const deadline = performance.now() + timeout; ;) {
      try {
        this.nats = await this.transport.connect(options)
        break
      } catch (err) {
        if (isRefusal(err)) throw this.refused(err)
        if (isUntrusted(/** @type {any} */ (err))) throw errors.untrusted(this.label, /** @type {Error} */ (err))
        if (performance.now() >= deadline) throw errors.serverUnreachable(this.label, timeout, err)
      }
      await pause(RECONNECT_DELAY)
      if (this.failure !== null) throw this.failure
    }
    if (this.failure !== null) {
      this.nats.close()
      throw this.failure
    }
  }

  /** @returns {import('@nats-io/transport-node').NodeConnectionOptions} */
  clientOptions () {
    const { settings: { servers, user, pass, token, creds, tls, name, timeout }, label } = this
    if (tls !== undefined && tls !== true) checkTls(tls, label)
    return {
      servers,
      user,
      pass,
      token,
      name,
      tls: tls === true ? {} : /** @type {any} */ (tls),
      authenticator: authenticatorOf(creds, label),
      timeout: Math.min(timeout, CONNECT_TIMEOUT),
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_DELAY,
      reconnectJitter: RECONNECT_DELAY,
      pingInterval: PING_INTERVAL,
      maxPingOut: 2,
      noAsyncTraces: true
    }
  }

  async watch () {
    this.statuses = this.nats.status()
    for await (const { type, error } of this.statuses) {
      if (type === 'disconnect') this.disconnected()
      else if (type === 'reconnect') this.reconnected()
      else if (type === 'error' && isDenied(error)) this.refusals.emit(`${error.operation} ${error.subject}`, error)
    }
  }

  /**
   * The server says when something happens to the stream. A user who may not hear that, or may not ask what became of what is in doubt, would
   * find out too late: so this is tried now.
   * @returns {Promise<void>} rejects with flumelog:server
   */
  async watchStream () {
    const { manager, settings: { stream } } = this
    this.subscribe(`$JS.EVENT.ADVISORY.STREAM.*.${stream}`, () => this.ask(() => this.identity.verify(), true).catch((err) => this.failIfDenied(err)))
    // that there is none is answered after the subscription
    await this.ask(() => manager.streams.getMessage(stream, { seq: Number.MAX_SAFE_INTEGER }))
  }

  /**
   * @param {string} subject without which nothing works
   * @param {(message: import('@nats-io/transport-node').Msg) => void} onmessage
   */
  subscribe (subject, onmessage) {
    this.subscriptions.push(this.nats.subscribe(subject, { callback: (err, message) => err ? this.fail(this.refused(err)) : onmessage(message) }))
  }

  /**
   * @param {Uint8Array} data of a message
   * @param {() => import('../envelope').MessageInfo} infoOf
   * @returns {Buffer} what readers get of it
   */
  recordOf (data, infoOf) {
    return this.settings.envelope ? enveloped(infoOf(), data) : Buffer.from(data.buffer, data.byteOffset, data.length)
  }

  /** @returns {string} a subject for answers, with the prefix of the connection: its user may subscribe to no other */
  createInbox () {
    return this.transport.createInbox(/** @type {any} */ (this.nats).options.inboxPrefix)
  }

  /**
   * @param {import('../options').ConnectionStatus['type']} type
   * @param {{ lag?: number }} [more]
   */
  tell (type, more) {
    const { nats, settings: { onStatus, stream } } = this
    const status = { type, stream, server: nats.getServer(), ...more }
    if (onStatus !== undefined) process.nextTick(onStatus, status)
  }

  disconnected () {
    this.tell('disconnect')
    this.isConnected = false
    this.connects++
    for (const reject of [...this.pending]) reject(new Disconnected())
  }

  /** What waits is asked when the stream is known to be the same. */
  async reconnected () {
    this.reconnects++
    this.connectedAt = performance.now()
    const { connects } = this
    for (;;) {
      const info = await this.identity.verify().catch((err) => this.failIfDenied(err))
      if (this.connects !== connects || this.failure !== null) return
      if (info !== null) {
        // nothing else was asked since the connection broke
        this.onverified(info.state.last_seq)
        break
      }
      if (!this.identity.isKnown) break
      this.leaveIfSilent(this.connectedAt)
      await pause(RETRY_DELAY)
    }
    this.isConnected = true
    this.tell('reconnect')
    this.release()
  }

  /** @param {any} err that says why it is not known whether the stream is the same: a user who may not ask would find out too late */
  failIfDenied (err) {
    if (isDenied(err)) this.fail(this.refused(err))
    return null
  }

  release () {
    const waiting = [...this.waiting]
    this.waiting.clear()
    for (const call of waiting) call()
  }

  /** @param {Error} err why there will be no other connection */
  fail (err) {
    this.isConnected = false
    const isFirst = this.failure === null
    this.failure ??= err
    for (const reject of [...this.pending]) reject(this.failure)
    this.release()
    if (isFirst) this.onfailure(this.failure)
  }

  /**
   * Waits until it is connected.
   * @param {number} [deadline] by `performance.now()`
   * @returns {Promise<void>} rejects with the reason if it will not be again; resolves at the deadline
   */
  async connected (deadline = Infinity) {
    if (this.failure === null && !this.isConnected) {
      await new Promise((resolve) => {
        const timer = deadline === Infinity ? undefined : setTimeout(done, Math.max(0, deadline - performance.now()))
        const { waiting } = this
        waiting.add(done)
        function done () {
          clearTimeout(timer)
          waiting.delete(done)
          resolve(undefined)
        }
      })
    }
    if (this.failure !== null) throw this.failure
  }

  /**
   * @template T
   * @param {() => Promise<T>} start of a request
   * @returns {Promise<T>} rejects at once when the connection breaks
   */
  attempt (start) {
    return new Promise((resolve, reject) => {
      if (this.failure !== null) return reject(this.failure)
      if (!this.isConnected) return reject(new Disconnected())
      this.pending.add(reject)
      start().then(resolve, reject).finally(() => this.pending.delete(reject))
    })
  }

  /** Milliseconds until an answer has to be there, after the data before it has been sent. */
  get requestTimeout () {
    return REQUEST_TIMEOUT + this.sending / SLOWEST_LINE
  }

  /**
   * The same for a request with data.
   * @template T
   * @param {number} bytes
   * @param {() => Promise<T>} start sends it in the same turn
   * @returns {Promise<T>} rejects with TimeoutError when the server has had the data for `REQUEST_TIMEOUT`, and has not answered
   */
  async attemptSending (bytes, start) {
    this.sending += bytes
    /** @type {NodeJS.Timeout | undefined} */
    let timer
    let isEnded = false
    try {
      return await this.attempt(() => new Promise((resolve, reject) => {
        const startTimer = (/** @type {number} */ milliseconds) => {
          clearTimeout(timer)
          if (!isEnded) timer = setTimeout(() => reject(new this.transport.TimeoutError()), milliseconds)
        }
        startTimer(this.requestTimeout)
        start().then(resolve, reject)
        // the server answers a ping when it has all that was sent before
        if (this.sending > SMALL) this.nats.flush().then(() => startTimer(REQUEST_TIMEOUT), () => {})
      }))
    } finally {
      isEnded = true
      clearTimeout(timer)
      this.sending -= bytes
    }
  }

  /**
   * A request that may be repeated.
   * @template T
   * @param {() => Promise<T>} start
   * @param {boolean} [isPatient] whether to wait for a server for as long as it takes
   * @returns {Promise<T>} rejects with flumelog:unreachable if there was no answer within `timeout`
   */
  async ask (start, isPatient = false) {
    const { timeout } = this.settings
    const startedAt = performance.now()
    const deadline = isPatient ? Infinity : startedAt + timeout
    for (;;) {
      await this.connected(deadline)
      try {
        return await this.attempt(start)
      } catch (thrown) {
        if (this.failure !== null) throw this.failure
        const err = this.identity.explain(thrown)
        if (!this.isTransient(err)) throw isRefusal(err) ? this.refused(err) : err
        this.leaveIfSilent(startedAt)
        if (performance.now() >= deadline) throw errors.serverUnreachable(this.label, timeout, err)
      }
      await pause(RETRY_DELAY)
    }
  }

  /**
   * @param {Partial<import('@nats-io/jetstream').StreamInfoRequestOptions>} [options]
   * @returns {Promise<import('@nats-io/jetstream').StreamInfo>} of the stream, as its leader knows it. To be repeated if a server without a majority
   *   of the stream's servers has answered
   */
  async streamInfo (options) {
    const info = await this.manager.streams.info(this.settings.stream, options)
    if (!hasMajority(info)) throw new Behind()
    return info
  }

  /**
   * That a message is not there may have been said by a server that has hung, and does not know of the new leader yet.
   * @param {number} from sequence
   * @param {number} [to]
   * @returns {Promise<boolean>} whether a leader with a majority has it, or one of those up to `to`
   */
  async hasMessage (from, to = from) {
    const { state: { first_seq: first, last_seq: last, deleted = [] } } = await this.streamInfo({ deleted_details: true })
    const [min, max] = [Math.max(from, first), Math.min(to, last)]
    return deleted.filter(seq => seq >= min && seq <= max).length <= max - min
  }

  /**
   * Waits a little before something is tried again, until there is a connection.
   * @param {number} [deadline] by `performance.now()`
   * @returns {Promise<void>}
   */
  async pause (deadline) {
    await pause(RETRY_DELAY)
    await this.connected(deadline)
  }

  /**
   * A request was not answered. A server that hangs, or is cut off from the others of its cluster, never answers it, so another one is tried.
   * @param {number} startedAt when it was made for the first time
   */
  leaveIfSilent (startedAt) {
    if (performance.now() - Math.max(startedAt, this.connectedAt) >= PATIENCE + this.sending / SLOWEST_LINE) this.leave()
  }

  /** Connects to another server, if there is one. */
  leave () {
    this.connectedAt = performance.now()
    this.nats.reconnect().catch(() => {})
  }

  /**
   * @param {any} err
   * @returns {boolean} whether the same request may succeed later: there was no answer, or the cluster has no leader, or too few servers, at the moment
   */
  isTransient (err) {
    if (isDenied(err)) return false
    if (err instanceof Disconnected || err instanceof Behind || isTimeout(err) || err?.name === 'RequestError' || lacksServers(err)) return true
    return (err?.status === 503 || err?.code === 503) && err.code !== NOT_STORED && !NO_STORAGE.has(err.code)
  }

  /**
   * @param {any} err what the server, or its client, said
   * @returns {Error}
   */
  refused (err) {
    return isFull(err) ? errors.serverFull(this.label, err) : errors.refusedByServer(this.label, err)
  }

  async close () {
    // before it is closed, so that what still waits says so
    this.fail(errors.closed(this.label))
    if (this.nats === null || this.nats.isClosed()) return
    if (this.settings.connection === undefined) return this.nats.close()
    // it is the caller's
    this.statuses?.stop()
    for (const subscription of this.subscriptions) if (!subscription.isClosed()) subscription.unsubscribe()
  }
}

/** @param {any} err @returns {boolean} whether there was no answer in time */
function isTimeout (err) {
  return err?.name === 'TimeoutError'
}

/** The connection has broken. */
class Disconnected extends Error {
  constructor () {
    super('disconnected')
  }
}

/** Codes of the server: its storage is full, or the account has reached its limits; a message could not be stored, for a reason that it gives; a stream has no place. */
const NO_STORAGE = new Set([10002, 10023, 10047])
const NOT_STORED = 10077
const NO_PEERS = 10005

/**
 * @param {any} err
 * @returns {boolean} whether a stream could not be created because servers of the cluster are down, or have not been heard of since its leader was
 *   elected. The other reasons (`selectPeerError` of nats-server) stay: too few servers in the cluster, their disks, their tags
 */
function lacksServers (err) {
  return err?.code === NO_PEERS && /peer offline|miscellaneous issue/.test(err.message)
}

/** @param {any} err @returns {boolean} whether the server has no space left, or the stream has reached its limits */
function isFull ({ code, message }) {
  return NO_STORAGE.has(code) || (code === NOT_STORED && /exceeded|no space/.test(message))
}

/** @param {any} err @returns {boolean} whether it is an error of the client or the server, and not one of this package or the operating system */
function isRefusal (err) {
  return REFUSALS.has(err?.name) || isDenied(err)
}

/** @param {any} err @returns {boolean} whether this user may not do it. By name: a connection of the caller may be one of another version of the client */
function isDenied (err) {
  return [err?.name, err?.cause?.name].includes('PermissionViolationError')
}

/** @param {any} err @returns {boolean} whether the certificate of the server is not trusted, or cannot be read: trying again is pointless */
function isUntrusted ({ code }) {
  return /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_|ERR_TLS_CERT_|ERR_OSSL_)/.test(code)
}

const REFUSALS = new Set(['JetStreamApiError', 'StreamNotFoundError', 'ConsumerNotFoundError', 'JetStreamStatusError', 'JetStreamError', 'JetStreamNotEnabled',
  'AuthorizationError', 'UserAuthenticationExpiredError', 'ProtocolError'])

/** @param {number} milliseconds @returns {Promise<void>} */
function pause (milliseconds) {
  return new Promise(resolve => setTimeout(resolve, milliseconds))
}

module.exports = { Connection, isDenied, REQUEST_TIMEOUT }
