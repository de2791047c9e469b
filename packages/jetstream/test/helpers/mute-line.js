'use strict'

// A line to a server that loses all that the server says once a text has gone over it, and lets nobody connect any more: who has sent the text
// never learns what became of it.

const net = require('net')

/**
 * @param {number} port of the server
 * @param {string} text of ASCII
 * @returns {Promise<{ url: string, close: () => void }>}
 */
async function muteLine (port, text) {
  const sockets = new Set()
  let isMute = false
  const listener = net.createServer((client) => {
    const server = net.connect(port, '127.0.0.1')
    let sent = ''
    client.on('data', (data) => {
      sent = sent.slice(-text.length) + data.toString('latin1')
      if (sent.includes(text)) isMute = true
      server.write(data)
    })
    server.on('data', (data) => { if (!isMute) client.write(data) })
    for (const [socket, other] of [[client, server], [server, client]]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
  })
  await new Promise(resolve => listener.unref().listen(0, '127.0.0.1', () => resolve(undefined)))
  return {
    url: `nats://127.0.0.1:${/** @type {net.AddressInfo} */ (listener.address()).port}`,
    close () {
      listener.close()
      for (const socket of sockets) socket.destroy()
    }
  }
}

module.exports = { muteLine }
