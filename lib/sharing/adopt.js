'use strict'

// A client becomes the owner: its own writer gets what it has sent and is not answered, unless the owner before has stored it, as it gets what
// other clients send. Its callers notice nothing.

/** @typedef {import('./remote-writer').RemoteWriter} RemoteWriter */

/**
 * Callers are answered by `settle`.
 * @param {RemoteWriter} remote
 * @param {string} id of this process as a client
 * @param {import('./server').Server} server
 */
function adopt (remote, id, server) {
  const { clients } = server
  const { writer: { appender, blocks: { blockSize, checksum } } } = /** @type {import('./server').OpenLog} */ (server.log)
  const { client, isUnknown } = clients.adopt(id)
  // when this process dies, nobody is left to ask what has become of the records
  const forgetIfDone = () => { if (client.packed.length === 0) clients.drop(client) }
  /** @type {import('./server').Answer} */
  const answer = (type, message) => {
    remote.onanswer(type, message)
    forgetIfDone()
    remote.settle()
  }
  // callers ask the writer from now on
  appender.waiters.before = remote.waiters
  remote.disconnected()
  remote.connected({ blockSize, checksum, window: Infinity, isUnknown, runs: [...client.runs] }, {
    send (items) {
      for (const item of items) 'ask' in item ? server.execute(item, answer) : server.append(client, item, answer)
    }
  })
  appender.addCounts(remote.counts)
  forgetIfDone()
}

module.exports = { adopt }
