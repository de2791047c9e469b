'use strict'

// Starts a server, says on which port and in which folder, and runs until it is killed.

const path = require('path')
const { findServer, startServer } = require('../nats')
const { listen, tell } = require('../../../../../test/helpers/processes')

listen()
startServer(findServer().file).then(({ port, configuration }) => tell({ port, folder: path.dirname(configuration) }))
