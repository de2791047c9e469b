'use strict'

// Errors of the viewer; the others are those of the log.

const { errors } = require('flumelog-random-access-file/blocks')

/**
 * What the viewer answers instead of what it was asked for.
 * @param {number} status of HTTP
 * @param {string} code
 * @param {string} message
 * @returns {Error & { status: number, code: string }}
 */
const refusal = (status, code, message) => Object.assign(new Error(message), { status, code })

module.exports = { ...errors, refusal }
