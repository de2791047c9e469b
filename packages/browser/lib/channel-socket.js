'use strict'

// A connection between two workers, of any tabs, with the part of the interface of a `net.Socket` that the log uses: over a BroadcastChannel that
// only these two have. A worker that has ended, whatever by, is noticed by the Web Lock that it held.

const { later } = require('./later')
const { whenGone } = require('./web-locks')

/** Bytes that are taken before the other side is told, so that not each message has an answer. */
const TOLD_BYTES = 32 * 1024
/** Bytes that the other side has not taken, below which there is room again. */
const DRAINED_BYTES = 64 * 1024

class ChannelSocket {
  /**
   * @param {BroadcastChannel} channel
   * @param {string} peer the name of the other worker's lock
   */
  constructor (channel, peer) {
    this.channel = channel
    this.destroyed = false
    this.writableEnded = false
    /** Bytes that were written and are not known to be taken. */
    this.writableLength = 0
    /** By the name of the event. @type {Map<string, Set<(argument?: any) => void>>} */
    this.listeners = new Map()
    /** What is written while corked; null: it is not. @type {Uint8Array[] | null} */
    this.corked = null
    /** What has arrived, and nobody reads. @type {Array<Uint8Array | null>} null: the end */
    this.arrived = []
    this.isPaused = false
    /** Bytes that were taken here, of which the other side is not told. */
    this.untold = 0
    this.stopWaiting = whenGone(peer, () => this.destroy())
    channel.onmessage = ({ data }) => this.receive(data)
  }

  /**
   * @param {string} event
   * @param {(argument?: any) => void} listener
   */
  on (event, listener) {
    const listeners = this.listeners.get(event) ?? new Set()
    this.listeners.set(event, listeners.add(listener))
    if (event === 'data') this.deliver()
    return this
  }

  /**
   * @param {string} event
   * @param {(argument?: any) => void} listener
   */
  once (event, listener) {
    const call = (/** @type {any} */ argument) => {
      this.listeners.get(event)?.delete(call)
      listener(argument)
    }
    return this.on(event, call)
  }

  /**
   * @param {string} event
   * @param {any} [argument]
   */
  emit (event, argument) {
    for (const listener of [...this.listeners.get(event) ?? []]) listener(argument)
  }

  // Writing

  /** @param {Uint8Array} bytes */
  write (bytes) {
    if (this.destroyed || this.writableEnded || bytes.length === 0) return
    this.writableLength += bytes.length
    if (this.corked !== null) this.corked.push(bytes)
    // a copy: the whole buffer of a view would be sent
    else this.channel.postMessage({ bytes: new Uint8Array(bytes) })
  }

  cork () {
    this.corked ??= []
  }

  uncork () {
    const { corked } = this
    this.corked = null
    if (corked === null || corked.length === 0 || this.destroyed) return
    this.channel.postMessage({ bytes: new Uint8Array(Buffer.concat(corked)) })
  }

  /** @param {Uint8Array} [bytes] the last ones */
  end (bytes) {
    if (this.destroyed || this.writableEnded) return
    if (bytes !== undefined) this.write(bytes)
    this.uncork()
    this.writableEnded = true
    this.channel.postMessage({ end: true })
  }

  // Reading

  /** @param {{ bytes?: Uint8Array, taken?: number, end?: boolean }} message */
  receive ({ bytes, taken, end }) {
    if (this.destroyed) return
    if (taken !== undefined) this.drain(taken)
    else if (bytes !== undefined || end) {
      this.arrived.push(bytes ?? null)
      this.deliver()
    }
  }

  /** @param {number} taken bytes, by the other side */
  drain (taken) {
    const wasFull = this.writableLength >= DRAINED_BYTES
    this.writableLength -= taken
    if (wasFull && this.writableLength < DRAINED_BYTES) this.emit('drain')
  }

  deliver () {
    while (this.arrived.length > 0 && !this.destroyed && !this.isPaused && this.listeners.has('data')) {
      const bytes = this.arrived.shift()
      if (bytes === null || bytes === undefined) {
        this.end()
        return this.destroy()
      }
      this.untold += bytes.length
      if (this.untold >= TOLD_BYTES) {
        this.channel.postMessage({ taken: this.untold })
        this.untold = 0
      }
      this.emit('data', Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
    }
  }

  pause () {
    this.isPaused = true
  }

  resume () {
    this.isPaused = false
    this.deliver()
  }

  destroy () {
    if (this.destroyed) return
    if (!this.writableEnded) this.channel.postMessage({ end: true })
    this.destroyed = true
    this.stopWaiting()
    this.channel.close()
    later(() => this.emit('close'))
  }

  // nothing keeps a worker alive
  ref () {}
  unref () {}
}

module.exports = { ChannelSocket }
