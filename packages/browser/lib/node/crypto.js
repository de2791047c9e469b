'use strict'

module.exports = { randomUUID: () => crypto.randomUUID() }
