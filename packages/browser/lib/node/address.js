'use strict'

// In the place of lib/sharing/address.js: where the workers that share a log find each other. The owner listens on a BroadcastChannel, and
// holds a Web Lock as long as it does. A client opens another channel, for the connection, and tells the owner its name, again and
// again until the owner answers there: a channel that was just opened may miss a message.

const { ChannelSocket } = require('../channel-socket')
const { volumes } = require('../mounts')
const { acquire, ownLock, whenGone } = require('../web-locks')

/** Milliseconds after which the owner is told again. */
const CONNECT_INTERVAL = 50

class Address {
  /** @param {string} path the log's: /NAME */
  constructor (path) {
    this.name = path.slice(1)
    this.channelName = `flumelog connect ${this.name}`
    this.lockName = `flumelog listen ${this.name}`
  }

  /**
   * Only for the owner.
   * @param {unknown} status
   * @param {(socket: any) => void} onconnection
   * @returns {Promise<Listener>}
   */
  async listen (status, onconnection) {
    // it is about to open the log
    await /** @type {import('../shared-volume').SharedVolume} */ (volumes.get(this.name)?.mounted).prepare()
    const worker = await ownLock()
    const channel = new BroadcastChannel(this.channelName)
    /** Connections, by their names; null: it is over, and is told of late. @type {Map<string, ChannelSocket | null>} */
    const connections = new Map()
    channel.onmessage = ({ data: { connection, client } }) => {
      let socket = connections.get(connection)
      if (socket === undefined) {
        socket = new ChannelSocket(new BroadcastChannel(connection), client)
        connections.set(connection, socket)
        socket.once('close', () => connections.set(connection, null))
        onconnection(socket)
      }
      if (socket !== null && !socket.destroyed) socket.channel.postMessage({ accepted: worker })
    }
    return new Listener(channel, await acquire(this.lockName))
  }

  /** @returns {Promise<ChannelSocket | null>} null: nobody listens */
  async connect () {
    const client = await ownLock()
    const release = await acquire(this.lockName, { mode: 'shared', ifAvailable: true })
    if (release !== null) {
      release()
      return null
    }
    const connection = `flumelog connection ${crypto.randomUUID()}`
    const channel = new BroadcastChannel(connection)
    const listeners = new BroadcastChannel(this.channelName)
    /** @type {any} */
    let timer
    let stopWaiting = () => {}
    const owner = await new Promise(resolve => {
      channel.onmessage = ({ data: { accepted } }) => resolve(accepted)
      stopWaiting = whenGone(this.lockName, () => resolve(null))
      const tell = () => {
        listeners.postMessage({ connection, client })
        timer = setTimeout(tell, CONNECT_INTERVAL)
      }
      tell()
    })
    clearTimeout(timer)
    stopWaiting()
    listeners.close()
    if (owner !== null) return new ChannelSocket(channel, owner)
    channel.close()
    return null
  }
}

class Listener {
  /**
   * @param {BroadcastChannel} channel
   * @param {(() => void) | null} release
   */
  constructor (channel, release) {
    this.channel = channel
    this.release = release
  }

  // nothing keeps a worker alive
  hold () {}

  async close () {
    this.channel.close()
    this.release?.()
  }
}

module.exports = { Address }
