'use strict'

// A line to a server that carries so many bytes per second, as a network does: what does not fit waits in the sender.

const net = require('net')

/** Milliseconds between two pieces. */
const INTERVAL = 20

/**
 * @param {number} port of the server
 * @param {number} rate bytes per second, to the server; it can be changed
 * @returns {Promise<{ url: string, rate: number, close: () => void }>}
 */
async function slowLine (port, rate) {
  const sockets = new Set()
  const listener = net.createServer({ highWaterMark: Math.ceil(rate * INTERVAL / 1000), pauseOnConnect: true }, (client) => {
    const server = net.connect(port, '127.0.0.1')
    server.pipe(client)
    const timer = setInterval(() => {
      const piece = Math.ceil(line.rate * INTERVAL / 1000)
      const bytes = client.read(Math.min(piece, client.readableLength)) ?? client.read()
      if (bytes !== null) server.write(bytes)
    }, INTERVAL)
    client.on('readable', () => {})
    for (const [socket, other] of [[client, server], [server, client]]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => {
        clearInterval(timer)
        sockets.delete(socket)
        other.destroy()
      })
    }
  })
  await new Promise(resolve => listener.unref().listen(0, '127.0.0.1', resolve))
  const line = {
    url: `nats://127.0.0.1:${listener.address().port}`,
    rate,
    close () {
      listener.close()
      for (const socket of sockets) socket.destroy()
    }
  }
  return line
}

module.exports = { slowLine }
