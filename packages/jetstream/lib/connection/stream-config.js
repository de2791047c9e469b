'use strict'

// The stream that has the records: its settings if it is created, and what an existing one needs. operating.md says why.

const errors = require('../errors')

/** Bytes of a message, with its headers. */
const MAX_MESSAGE = 1024 * 1024
/** Bytes of a message that are left to the headers of appends, and of servers. */
const HEADERS = 1024
/** Milliseconds for which the key of an append holds: the server's default. */
const DUPLICATE_WINDOW = 120_000
/** In the metadata of a stream that is one of the partitions of a log: which of how many. */
const PARTITION = 'flumelog-partition'
/** Per millisecond. */
const NANOSECONDS = 1e6
/** Code of the server: a stream of this name has other settings. */
const NAME_IN_USE = 10058

/**
 * @typedef {import('@nats-io/jetstream').StreamConfig} StreamConfig
 * @typedef {import('@nats-io/jetstream').StreamInfo} StreamInfo
 * @typedef {import('./connection').Connection} Connection
 */

/**
 * @param {import('../options').Settings} settings
 * @returns {any} of a stream that is created
 */
function configOf ({ stream, subject, replicas, duplicateWindow = DUPLICATE_WINDOW, config, partition }) {
  return {
    // a stream that is full refuses appends instead of dropping the oldest records
    discard: 'new',
    max_msgs: -1,
    max_bytes: -1,
    max_age: 0,
    ...config,
    metadata: { ...config.metadata, ...(partition !== undefined && { [PARTITION]: partition }) },
    name: stream,
    subjects: [`${subject}.>`],
    storage: 'file',
    retention: 'limits',
    num_replicas: replicas,
    max_msg_size: MAX_MESSAGE,
    duplicate_window: duplicateWindow * NANOSECONDS,
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
  const { settings, label } = connection
  const info = await findStream(connection) ?? await createStream(connection)
  const problem = problemOf(info.config, settings)
  if (problem !== null) throw errors.unsuitableStream(label, problem)
  return info
}

/**
 * @param {Connection} connection
 * @returns {Promise<StreamInfo>}
 */
async function createStream (connection) {
  const { settings, settings: { timeout }, manager, label } = connection
  if (settings.readOnly) throw errors.unsuitableStream(label, 'there is no such stream')
  const deadline = performance.now() + timeout
  try {
    return await connection.ask(() => manager.streams.add(configOf(settings)))
  } catch (err) {
    for (;;) {
      // another process may have created it meanwhile, with other settings
      const info = await findStream(connection)
      if (info !== null) return info
      // or be about to
      if (!isTaken(err) || performance.now() >= deadline) throw err
      await connection.pause()
    }
  }
}

/** @param {any} err @returns {boolean} whether there is a stream of this name, or is going to be */
function isTaken ({ cause }) {
  return cause?.code === NAME_IN_USE
}

/**
 * @param {Connection} connection
 * @returns {Promise<StreamInfo | null>}
 */
function findStream (connection) {
  const { jetstream: { JetStreamApiError, JetStreamApiCodes } } = connection
  return connection.ask(() => connection.streamInfo().catch((err) => {
    if (err instanceof JetStreamApiError && err.code === JetStreamApiCodes.StreamNotFound) return null
    throw err
  }))
}

/**
 * @param {StreamConfig & { allow_atomic?: boolean }} config of an existing stream
 * @param {import('../options').Settings} settings
 * @returns {string | null} why it cannot be used
 */
function problemOf ({ subjects = [], retention, allow_direct: direct, allow_atomic: atomic, duplicate_window: window = 0, metadata }, { subject, readOnly, duplicateWindow = 0, partition }) {
  const found = metadata?.[PARTITION]
  if (partition !== undefined && found !== partition) return `the stream is ${found === undefined ? 'no partition of a log' : `partition ${found}`}, and it would have to be ${partition}: the number of partitions cannot be changed`
  if (retention !== 'limits') return `its retention is ${retention}, so it loses each record that a consumer has taken; a log needs limits`
  if (!direct) return 'allow_direct is off in the settings of the stream, and reads need it'
  if (readOnly) return null
  if (!atomic) return 'allow_atomic is off in the settings of the stream, and appends need it; nats-server has it since 2.12'
  if (window < duplicateWindow * NANOSECONDS) return `the duplicate_window of the stream is ${window / NANOSECONDS} ms, shorter than the option duplicateWindow (${duplicateWindow} ms)`
  return takes(subjects, `${subject}.x`) ? null : `the stream does not store the subjects ${subject}.>; it stores ${subjects.join(', ')}`
}

/**
 * @param {StreamInfo} info
 * @param {Connection} connection
 * @returns {string | null} the name of the only server that has the stream, if that is known and the stream takes all subjects of an AppendSender for one
 */
function serverOf ({ config: { num_replicas: replicas, subjects = [] }, cluster }, { settings: { subject }, nats: { info } }) {
  if (replicas > 1 || !takes(subjects, `${subject}.x.y`)) return null
  // a server that belongs to no cluster does not say that it is the leader
  const alone = info?.jetstream && !info.cluster ? info.server_name : null
  return cluster?.leader ?? alone
}

/**
 * @param {string[]} patterns
 * @param {string} subject
 */
function takes (patterns, subject) {
  return patterns.some(pattern => isWithin(subject.split('.'), pattern.split('.')))
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

module.exports = { openStream, maxRecordSize, serverOf }
