'use strict'

// The packages that talk to NATS. They are optional: only programs that have a log in a stream need them.

const errors = require('../errors')

/**
 * @returns {{ transport: import('@nats-io/transport-node'), jetstream: import('@nats-io/jetstream') }}
 * @throws flumelog:invalid if they are not installed
 */
function loadClients () {
  try {
    return { transport: require('@nats-io/transport-node'), jetstream: require('@nats-io/jetstream') }
  } catch (err) {
    throw errors.noNatsClient(err)
  }
}

module.exports = { loadClients }
