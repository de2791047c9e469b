// The types need those of Node.js, which TypeScript 6 and later load only where this is said.
/// <reference types="node" preserve="true" />

'use strict'

// A log in a stream of NATS JetStream, on as many machines as there are: the interface of a log in a file.

const { settingsOf } = require('./lib/jetstream/options')
const pulling = require('./lib/jetstream/pull')
const { createStreamLog } = require('./lib/jetstream/stream-log')

/**
 * @typedef {import('./lib/jetstream/options').TlsOptions} TlsOptions
 * @typedef {import('./lib/read/options').StreamOptions} StreamOptions
 * @typedef {import('./lib/jetstream/pull').PullOptions} PullOptions
 * @typedef {import('./lib/jetstream/pull').PullProgress} PullProgress
 * @typedef {import('./lib/errors').LogError} LogError
 * @typedef {import('./lib/errors').SystemError} SystemError
 * @typedef {import('./lib/errors').ErrorCode} ErrorCode
 */

/**
 * @template [T=Buffer]
 * @typedef {import('./lib/jetstream/options').JetStreamOptions<T>} Options
 */

/**
 * @template [T=Buffer]
 * @typedef {import('./lib/options').Codec<T>} Codec
 */

/**
 * @template [T=Buffer] a record, as the codec decodes it
 * @template [A=T] what can be appended
 * @typedef {import('./lib/jetstream/types').JetStreamLog<T, A>} Log
 */

/**
 * Opens a log in a stream, which is created if it does not exist. Errors of the connection are given to `onReady` and to every call made
 * on the log. An open log keeps the process alive: close it.
 *
 * @template T
 * @overload
 * @param {Options<T> & { codec: Codec<T> }} options
 * @returns {Log<T>}
 * @throws flumelog:invalid if an option is invalid, or the packages `@nats-io/transport-node` and `@nats-io/jetstream` are not installed
 */
/**
 * Opens a log of Buffers in a stream.
 *
 * @overload
 * @param {Options & { codec?: undefined }} options
 * @returns {Log<Buffer, Uint8Array | string>}
 */
/**
 * Opens a log of Buffers with a codec in a stream.
 *
 * @overload
 * @param {Options} options
 * @returns {Log}
 */
/**
 * @param {any} options
 * @returns {any}
 */
function JetStreamLog (options) {
  return createStreamLog(settingsOf(options))
}

/**
 * Keeps a log in a file equal to a stream: appends the messages that it does not have yet, and deletes what is deleted in the stream. The
 * log must be empty, or one that was pulled from the same stream, and nothing else may append to it. Beside it, FILE.pull says how far it is.
 *
 * @param {Options<any>} source the stream: its name, servers and credentials; of the other options, none matters
 * @param {import('./lib/types').FlumeLog<any, any>} log a log in a file, opened without `shared`; its codec is not asked
 * @param {PullOptions} [options]
 * @returns {Promise<PullProgress>} with `live: false`, when both are equal. Rejects with `flumelog:replaced` if it is not the stream that was
 *   copied, `flumelog:invalid` if the log is not a copy, or is in use; with `flumelog:too-large` or `flumelog:invalid` if a message cannot be stored;
 *   `flumelog:unreachable`; `flumelog:server`; the reason of the signal; and as `append` of the log does. All that was pulled is kept
 */
JetStreamLog.pull = async function pull (source, log, options) {
  return pulling.pull(source, log, options ?? {})
}

module.exports = JetStreamLog
