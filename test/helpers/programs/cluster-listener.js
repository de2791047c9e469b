'use strict'

// Listens on the address of a log in a cluster worker, and sends each connection the
// worker's process id. Sent anything, it closes the listener.

const cluster = require('cluster')
const fs = require('fs')
const { argument, tell, listen } = require('../processes')
const { Address } = require('../../../lib/sharing/address')

if (cluster.isPrimary) runPrimary()
else runWorker()

function runPrimary () {
  const worker = cluster.fork()
  worker.on('message', tell)
  cluster.on('listening', () => tell({ what: 'shared' }))
  worker.on('exit', () => process.exit())
  listen(() => worker.send('close'))
}

async function runWorker () {
  const { filename } = argument()
  const address = new Address(filename)
  const listener = await address.listen(fs.statSync(filename), socket => socket.end(String(process.pid)))
  process.on('message', async () => {
    await listener.close()
    process.send({ what: 'closed' }, () => process.disconnect())
  })
  process.send({ what: 'listening', pid: process.pid })
}
