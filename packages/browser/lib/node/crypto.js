'use strict'

/** @param {number} size */
const randomBytes = (size) => Buffer.from(crypto.getRandomValues(new Uint8Array(size)))

const randomUUID = () => crypto.randomUUID()

module.exports = { randomUUID, randomBytes }
