'use strict'

/** @param {number} size */
const randomBytes = (size) => Buffer.from(crypto.getRandomValues(new Uint8Array(size)))

module.exports = { randomUUID: () => crypto.randomUUID(), randomBytes }
