'use strict'

// The connection to the servers. It reconnects by itself, for as long as it takes. What was sent before it broke may or may not have
// arrived, so every request then fails at once, and is decided anew by whoever made it.

const jetstream = require('@nats-io/jetstream')
const transport = require('@nats-io/transport-node')
const fs = require('fs')
const errors = require('./errors')

/** Milliseconds. A stream without a leader does not answer at all, so what is asked then is asked again soon. */
const REQUEST_TIMEOUT = 2000
/** A server that hangs still accepts connections. */
const CONNECT_TIMEOUT = 2000
const RECONNECT_DELAY = 100
const RETRY_DELAY = 50
const CHECK_TIMEOUT = 1000
/** A server that hangs is noticed after two of them. */
const PING_INTERVAL = 5000

/** @typedef {import('./options').Settings} Settings */

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
    /** Why it will not be connected again. @type {Error | null} */
    this.failure = null
    /** Requests that wait for an answer. @type {Set<(err: Error) => void>} */
    this.pending = new Set()
    /** Called when it is connected again, or never will be. @type {Set<() => void>} */
    this.waiting = new Set()
    this.reconnects = 0
    this.isChecking = false
    this.onfailure = (/** @type {Error} */ err) => { this.failure = err }
  }

  /** Connects for the first time. */
  async open () {
    const { settings: { timeout } } = this
    const options = this.clientOptions()
    for (const deadline = performance.now() + timeout; ;) {
      try {
        this.nats = await this.transport.connect(options)
        break
      } catch (err) {
        if (isRefusal(err)) throw this.refused(err)
        if (performance.now() >= deadline) throw errors.serverUnreachable(this.label, timeout, err)
      }
      await pause(RECONNECT_DELAY)
      if (this.failure !== null) throw this.failure
    }
    if (this.failure !== null) {
      this.nats.close()
      throw this.failure
    }
    this.isConnected = true
    this.manager = await this.jetstream.jetstreamManager(this.nats, { checkAPI: false, timeout: REQUEST_TIMEOUT })
    this.watch()
    this.nats.closed().then((err) => this.fail(err ? this.refused(err) : errors.closed(this.label)))
  }

  /** @returns {import('@nats-io/transport-node').NodeConnectionOptions} */
  clientOptions () {
    const { servers, user, pass, token, creds, tls, name, timeout } = this.settings
    const bytes = typeof creds === 'string' ? fs.readFileSync(creds) : creds
    return {
      servers,
      user,
      pass,
      token,
      name,
      tls: tls === true ? {} : tls,
      authenticator: bytes === undefined ? undefined : this.transport.credsAuthenticator(bytes),
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
    for await (const { type } of this.nats.status()) {
      if (type === 'disconnect') this.disconnected()
      else if (type === 'reconnect') this.reconnected()
    }
  }

  disconnected () {
    this.isConnected = false
    for (const reject of [...this.pending]) reject(new Disconnected())
  }

  reconnected () {
    this.isConnected = true
    this.reconnects++
    this.release()
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

  /**
   * A request that may be repeated.
   * @template T
   * @param {() => Promise<T>} start
   * @param {boolean} [isPatient] whether to wait for a server for as long as it takes
   * @returns {Promise<T>} rejects with flumelog:unreachable if there was no answer within `timeout`
   */
  async ask (start, isPatient = false) {
    const { timeout } = this.settings
    const deadline = isPatient ? Infinity : performance.now() + timeout
    for (;;) {
      await this.connected(deadline)
      try {
        return await this.attempt(start)
      } catch (err) {
        if (this.failure !== null) throw this.failure
        if (!this.isTransient(err)) throw isRefusal(err) ? this.refused(err) : err
        if (err instanceof this.transport.TimeoutError) this.checkServer()
        if (performance.now() >= deadline) throw errors.serverUnreachable(this.label, timeout, err)
      }
      await pause(RETRY_DELAY)
    }
  }

  /**
   * Waits a little before something is tried again; not longer than the connection is there.
   * @returns {Promise<void>}
   */
  async pause () {
    await pause(RETRY_DELAY)
    await this.connected()
  }

  /** There was no answer: finds out whether this server hangs, and leaves it if so. */
  checkServer () {
    if (!this.isConnected || this.isChecking) return
    this.isChecking = true
    const timer = setTimeout(() => this.nats.reconnect().catch(() => {}), CHECK_TIMEOUT)
    this.nats.flush().catch(() => {}).then(() => {
      clearTimeout(timer)
      this.isChecking = false
    })
  }

  /**
   * @param {any} err
   * @returns {boolean} whether the same request may succeed later: there was no answer, or the cluster has no leader at the moment
   */
  isTransient (err) {
    const { TimeoutError, RequestError, PermissionViolationError } = this.transport
    if (err?.cause instanceof PermissionViolationError) return false
    if (err instanceof Disconnected || err instanceof Behind || err instanceof TimeoutError || err instanceof RequestError) return true
    return (err?.status === 503 || err?.code === 503) && err.code !== NOT_STORED
  }

  /**
   * @param {any} err what the server, or its client, said
   * @returns {Error}
   */
  refused (err) {
    return isFull(err) ? errors.serverFull(this.label, err) : errors.refusedByServer(this.label, err)
  }

  async close () {
    if (this.failure !== null) return
    // before it is closed, so that what still waits says so
    this.fail(errors.closed(this.label))
    if (this.nats !== null) await this.nats.close()
  }
}

/** The connection has broken. */
class Disconnected extends Error {
  constructor () {
    super('disconnected')
  }
}

/** The server that was asked does not have yet what another one has acknowledged. */
class Behind extends Error {
  constructor () {
    super('the server has not caught up yet')
  }
}

/** Codes of the server: its storage is full; a message could not be stored, for a reason that it gives. */
const NO_STORAGE = 10047
const NOT_STORED = 10077

/** @param {any} err @returns {boolean} whether the server has no space left, or the stream has reached its limits */
function isFull ({ code, message }) {
  return code === NO_STORAGE || (code === NOT_STORED && /exceeded|no space/.test(message))
}

/** @param {any} err @returns {boolean} whether it is an error of the client or the server, and not one of this package or the operating system */
function isRefusal (err) {
  return REFUSALS.has(err?.name) || err?.cause?.name === 'PermissionViolationError'
}

const REFUSALS = new Set(['JetStreamApiError', 'StreamNotFoundError', 'ConsumerNotFoundError', 'JetStreamStatusError', 'JetStreamError', 'JetStreamNotEnabled',
  'AuthorizationError', 'UserAuthenticationExpiredError', 'PermissionViolationError', 'ProtocolError'])

/** @param {number} milliseconds @returns {Promise<void>} */
function pause (milliseconds) {
  return new Promise(resolve => setTimeout(resolve, milliseconds))
}

module.exports = { Connection, Behind, REQUEST_TIMEOUT }
