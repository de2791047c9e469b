'use strict'

module.exports = { performance: globalThis.performance }
