'use strict'

// The stream that has the records: its settings if it is created, and what an existing one needs. docs/jetstream.md says why.

const errors = require('./errors')

/** Bytes of a message, with its headers. */
const MAX_MESSAGE = 1024 * 1024
/** Bytes of a message that are left to the headers of appends, and of servers. */
const HEADERS = 1024

/**
 * @typedef {import('@nats-io/jetstream').StreamConfig} StreamConfig
 * @typedef {import('@nats-io/jetstream').StreamInfo} StreamInfo
 * @typedef {import('./connection').Connection} Connection
 */

/**
 * @param {import('./options').Settings} settings
 * @returns {any} of a stream that is created
 */
function configOf ({ stream, subject, replicas }) {
  return {
    name: stream,
    subjects: [`${subject}.>`],
    storage: 'file',
    retention: 'limits',
    // a stream that is full refuses appends instead of dropping the oldest records
    discard: 'new',
    num_replicas: replicas,
    max_msg_size: MAX_MESSAGE,
    max_msgs: -1,
    max_bytes: -1,
    max_age: 0,
    allow_direct: true,
    allow_atomic: true
  }
}

/**
 * @param {Connection} connection
 * @returns {Promise<StreamInfo>} of the stream, which is created if there is none
 * @throws flumelog:invalid if it is not suitable
 */
async function openStream (connection) {
  const { settings, manager, label } = connection
  let info = await findStream(connection)
  if (info === null) {
    if (settings.readOnly) throw errors.unsuitableStream(label, 'there is no such stream, and the log was opened with readOnly')
    try {
      info = await connection.ask(() => manager.streams.add(configOf(settings)))
    } catch (err) {
      // another process may have created it meanwhile, with other settings
      info = await findStream(connection)
      if (info === null) throw err
    }
  }
  const problem = problemOf(info.config, settings)
  if (problem !== null) throw errors.unsuitableStream(label, problem)
  return info
}

/**
 * @param {Connection} connection
 * @returns {Promise<StreamInfo | null>}
 */
function findStream (connection) {
  const { manager, settings, jetstream: { JetStreamApiError, JetStreamApiCodes } } = connection
  return connection.ask(() => manager.streams.info(settings.stream).catch((err) => {
    if (err instanceof JetStreamApiError && err.code === JetStreamApiCodes.StreamNotFound) return null
    throw err
  }))
}

/**
 * @param {StreamConfig & { allow_atomic?: boolean }} config of an existing stream
 * @param {import('./options').Settings} settings
 * @returns {string | null} why it cannot be used
 */
function problemOf ({ subjects = [], allow_direct: direct, allow_atomic: atomic }, { subject, readOnly }) {
  if (!direct) return 'allow_direct is off in the settings of the stream, and reads need it'
  if (readOnly) return null
  if (!atomic) return 'allow_atomic is off in the settings of the stream, and appends need it; nats-server has it since 2.12'
  const takes = (/** @type {string} */ pattern) => isWithin(`${subject}.x`.split('.'), pattern.split('.'))
  return subjects.some(takes) ? null : `the stream does not store the subjects ${subject}.>; it stores ${subjects.join(', ')}`
}

/**
 * @param {string[]} tokens of a subject
 * @param {string[]} pattern tokens of one that a stream stores
 */
function isWithin (tokens, pattern) {
  for (let i = 0; i < pattern.length; i++) {
    if (pattern[i] === '>') return tokens.length > i
    if (i >= tokens.length || (pattern[i] !== '*' && pattern[i] !== tokens[i])) return false
  }
  return tokens.length === pattern.length
}

/**
 * @param {StreamInfo} info
 * @param {number} maxPayload of the server
 * @returns {number} bytes that a record may have
 */
function maxRecordSize ({ config: { max_msg_size: most } }, maxPayload) {
  return Math.min(most > 0 ? most : Infinity, maxPayload) - HEADERS
}

module.exports = { openStream, maxRecordSize, configOf, problemOf }
