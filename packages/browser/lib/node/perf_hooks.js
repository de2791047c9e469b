'use strict'

const { performance } = globalThis

module.exports = { performance }
