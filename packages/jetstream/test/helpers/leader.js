'use strict'

// Which server of a cluster leads a stream.

const { jetstreamManager } = require('@nats-io/jetstream')
const { connect } = require('@nats-io/transport-node')

const pause = (milliseconds) => new Promise(resolve => setTimeout(resolve, milliseconds))

/** The server that leads a stream, once one does. */
async function leaderOf (servers, stream) {
  const nats = await connect({ servers: servers.map(({ url }) => url), maxReconnectAttempts: -1 })
  const manager = await jetstreamManager(nats, { checkAPI: false })
  try {
    for (;;) {
      const info = await manager.streams.info(stream).catch(() => null)
      const leader = servers.find(({ port }) => info?.cluster?.leader === `n${port}`)
      if (leader !== undefined) return leader
      await pause(50)
    }
  } finally {
    await nats.close()
  }
}

module.exports = { leaderOf }
