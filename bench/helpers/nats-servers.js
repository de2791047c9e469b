'use strict'

// NATS servers for a benchmark.

const { freePort, startCluster, Server } = require('../../packages/jetstream/test/helpers/nats')

/**
 * @param {string} file of the program
 * @param {number} nodes 1, or 3 of a cluster
 * @param {boolean} isSynced whether they fsync before they acknowledge
 * @param {string} folder
 * @returns {Promise<{ urls: string[], stop: () => Promise<unknown> }>}
 */
async function startServers (file, nodes, isSynced, folder) {
  const servers = nodes === 1 ? [new Server(file, folder, await freePort(), '', { isSynced })] : await startCluster(file, { folder, isSynced })
  if (nodes === 1) await servers[0].start()
  return { urls: servers.map(({ url }) => url), stop: () => Promise.all(servers.map(server => server.stop())) }
}

module.exports = { startServers }
