'use strict'

// Starts a server, says on which port, and runs until it is killed.

const { findServer, startServer } = require('../nats')
const { listen, tell } = require('../../../../../test/helpers/processes')

listen()
startServer(findServer().file).then(({ port }) => tell({ port }))
