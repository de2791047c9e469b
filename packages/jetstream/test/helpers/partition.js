'use strict'

// A cluster of three whose servers reach each other through proxies. A server that is cut off gets nothing from the others, and they get nothing
// from it, as if the network between them were down; its clients still reach it.

const fs = require('fs')
const net = require('net')
const path = require('path')
const { jetstreamManager } = require('@nats-io/jetstream')
const { connect } = require('@nats-io/transport-node')
const { processFolder } = require('../../../../test/helpers/folder')
const { freePort, Server } = require('./nats')

/** Where one server reaches another one. */
class Line {
  /** @param {number} port */
  constructor (port) {
    this.isCut = false
    /** @type {Set<net.Socket>} */
    this.sockets = new Set()
    this.listener = net.createServer((client) => {
      const server = net.connect(port, '127.0.0.1')
      for (const [from, to] of [[client, server], [server, client]]) {
        this.sockets.add(from)
        if (this.isCut) from.pause()
        from.on('data', data => to.write(data)).on('error', () => {}).on('close', () => {
          this.sockets.delete(from)
          to.destroy()
        })
      }
    })
  }

  /** @returns {Promise<number>} its port */
  listen () {
    // one that a failed test has not closed does not keep the process alive
    return new Promise(resolve => this.listener.unref().listen(0, '127.0.0.1', () => resolve(/** @type {net.AddressInfo} */ (this.listener.address()).port)))
  }

  cut () {
    this.isCut = true
    for (const socket of this.sockets) socket.pause()
  }

  /** What was sent meanwhile arrives, as with TCP. */
  heal () {
    this.isCut = false
    for (const socket of this.sockets) socket.resume()
  }

  close () {
    this.listener.close()
    for (const socket of this.sockets) socket.destroy()
  }
}

class PartitionedCluster {
  /**
   * @param {string} file of the program
   * @param {object} [options]
   * @param {string} [options.extra] more of the configuration
   * @param {boolean} [options.isSynced] whether the servers fsync before they acknowledge
   * @param {string[]} [options.storeFolders] for the data of each
   * @returns {Promise<PartitionedCluster>} of servers that have been started
   */
  static async start (file, { extra = '', isSynced = false, storeFolders = [] } = {}) {
    const [ports, clusterPorts] = await Promise.all([freePorts(), freePorts()])
    const lines = [0, 1, 2].map(() => [0, 1, 2].map(to => new Line(clusterPorts[to])))
    const nowhere = await freePort()
    const folder = path.join(processFolder(), String(nowhere))
    fs.mkdirSync(folder)
    const servers = await Promise.all(ports.map(async (port, i) => {
      const others = [0, 1, 2].filter(other => other !== i)
      const routes = await Promise.all(others.map(async other => `"nats://127.0.0.1:${await lines[i][other].listen()}"`))
      // they would connect to what the others advertise, past the lines
      const cluster = `cluster { name: c, host: 127.0.0.1, port: ${clusterPorts[i]}, advertise: "127.0.0.1:${nowhere}", routes: [${routes.join(', ')}] }`
      return new Server(file, folder, port, `${cluster}\n${extra}`, { isSynced, storeFolder: storeFolders[i] })
    }))
    await Promise.all(servers.map(server => server.start()))
    await untilComplete(servers)
    return new PartitionedCluster(servers, lines)
  }

  /** @param {Server[]} servers @param {Line[][]} lines by the server that connects, and the one that it connects to */
  constructor (servers, lines) {
    this.servers = servers
    this.lines = lines
    this.urls = servers.map(({ url }) => url)
  }

  /** @param {Server} server */
  linesOf (server) {
    const i = this.servers.indexOf(server)
    return this.lines.flatMap((row, from) => row.filter((_, to) => from !== to && (from === i || to === i)))
  }

  /** @param {Server} server that gets nothing from the others any more, and they nothing from it */
  cut (server) {
    for (const line of this.linesOf(server)) line.cut()
  }

  /** @param {Server} server */
  heal (server) {
    for (const line of this.linesOf(server)) line.heal()
  }

  async stop () {
    await Promise.all(this.servers.map(server => server.stop()))
    for (const line of this.lines.flat()) line.close()
  }
}

/** @returns {Promise<number[]>} three */
function freePorts () {
  return Promise.all(Array.from({ length: 3 }, freePort))
}

/** Until each server knows both others: before that, there is none to place a replica on. @param {Server[]} servers */
async function untilComplete (servers) {
  const nats = await connect({ servers: servers.map(({ url }) => url) })
  const manager = await jetstreamManager(nats, { checkAPI: false })
  while (!await manager.streams.add({ name: 'PROBE', subjects: ['PROBE'], num_replicas: 3 }).catch(() => false)) await new Promise(resolve => setTimeout(resolve, 50))
  await manager.streams.delete('PROBE')
  await nats.close()
}

module.exports = { PartitionedCluster }
