'use strict'

// Streams of Node.js do not exist here: the log has iterators.

const { failure } = require('../errors')

class Missing {
  constructor () {
    throw failure('flumelog:unsupported', 'there are no Node.js streams in a browser: use stream() or batches(), and appendFrom()')
  }
}

module.exports = { Readable: Missing, Writable: Missing, addAbortSignal () {} }
