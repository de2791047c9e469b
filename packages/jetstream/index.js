// The types need those of Node.js, which TypeScript 6 and later load only where this is said.
/// <reference types="node" preserve="true" />

'use strict'

// A log in a stream of NATS JetStream, on as many machines as there are: the interface of a log in a file.

const { CopiedLog } = require('flumelog-random-access-file/blocks')
const { envelope } = require('./lib/envelope')
const { mirrorSettingsOf } = require('./lib/mirror/mirror-options')
const { settingsOf } = require('./lib/options')
const { createPartitionedLog } = require('./lib/partitions/partitioned-log')
const { createStreamLog } = require('./lib/stream-log')

/**
 * @typedef {import('./lib/options').TlsOptions} TlsOptions
 * @typedef {import('./lib/options').ConnectionStatus} ConnectionStatus
 * @typedef {import('flumelog-random-access-file').StreamOptions} StreamOptions
 * @typedef {import('./lib/pull/pull-options').StreamSource} StreamSource
 * @typedef {import('./lib/pull/pull-options').PullOptions} PullOptions
 * @typedef {import('./lib/pull/pull-options').PullProgress} PullProgress
 * @typedef {import('./lib/pull/pull-options').Pulled} Pulled
 * @typedef {import('flumelog-random-access-file').LogError} LogError
 * @typedef {import('flumelog-random-access-file').SystemError} SystemError
 * @typedef {import('flumelog-random-access-file').ErrorCode} ErrorCode
 */

/**
 * @template [T=Buffer]
 * @typedef {import('./lib/options').JetStreamOptions<T>} Options
 */

/**
 * @template [T=Buffer]
 * @typedef {import('flumelog-random-access-file').Codec<T>} Codec
 */

/**
 * @template [T=Buffer] a record, as the codec decodes it
 * @template [A=T] what can be appended
 * @typedef {import('./lib/types').JetStreamLog<T, A>} Log
 */

/**
 * @template [T=Buffer] a record, as the codec decodes it
 * @template [A=T] what can be appended
 * @typedef {import('./lib/types').PartitionedLog<T, A>} PartitionedLog
 */

/**
 * Opens a log in several streams, which are created if they do not exist.
 *
 * @template T
 * @overload
 * @param {Options<T> & { codec: Codec<T>, partitions: number, key: (value: T) => string }} options
 * @returns {PartitionedLog<T>}
 * @throws flumelog:invalid if an option is invalid
 */
/**
 * Opens a log of values of JSON in several streams.
 *
 * @template [T=any] what the records are, which nothing checks
 * @overload
 * @param {Options<T> & { codec: 'json', partitions: number, key: (value: T) => string }} options
 * @returns {PartitionedLog<T>}
 */
/**
 * Opens a log of Buffers in several streams.
 *
 * @overload
 * @param {Options & { codec?: undefined, partitions: number, key: (value: any) => string }} options
 * @returns {PartitionedLog<Buffer, Uint8Array | string>}
 */
/**
 * Opens a log in a stream, which is created if it does not exist. Errors of the connection are given to `onReady` and to every call made
 * on the log. An open log keeps the process alive: close it.
 *
 * @template T
 * @overload
 * @param {Options<T> & { codec: Codec<T> }} options
 * @returns {Log<T>}
 * @throws flumelog:invalid if an option is invalid
 */
/**
 * Opens a log of values of JSON in a stream.
 *
 * @template [T=any] what the records are, which nothing checks
 * @overload
 * @param {Options<T> & { codec: 'json' }} options
 * @returns {Log<T>}
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
  const settings = settingsOf(options)
  return settings.partitions === undefined ? createStreamLog(settings) : createPartitionedLog(settings)
}

/**
 * @typedef {import('./lib/mirror/mirror-options').StreamTarget} StreamTarget
 * @typedef {import('./lib/mirror/mirror-options').MirrorOptions} MirrorOptions
 * @typedef {import('./lib/mirror/mirror-options').MirrorProgress} MirrorProgress
 * @typedef {import('./lib/mirror/mirror-options').Mirrored} Mirrored
 */

/**
 * Mirrors a log in a file into a stream, which is created if it does not exist: each record once and in order, and what is deleted in the log is
 * deleted there. It waits for servers as long as it takes, and can be interrupted at any time: the next call goes on.
 *
 * @param {object} log that this package has opened, with callbacks or promises; it may be read-only
 * @param {StreamTarget} target
 * @param {MirrorOptions} [options]
 * @returns {Promise<Mirrored>} resolves, with `live: false`, when the stream equals the log. Rejects with the signal's reason; `flumelog:closed` if the log is
 *   closed; `flumelog:locked` if another process, or another call, has the cursor: it is mirroring; `flumelog:invalid` if an option is invalid, or the stream is one of another log,
 *   is ahead of the log, or has other messages; `flumelog:replaced` if the stream is deleted meanwhile; `flumelog:unreachable`; `flumelog:server`; `flumelog:too-large`; `ENOSPC` if the stream is full
 */
async function mirror (log, target, options = {}) {
  const mirrored = new CopiedLog(log)
  const settings = mirrorSettingsOf(target, options)
  settings.signal?.throwIfAborted()
  // loaded then: most programs mirror nothing
  const { Mirror } = require('./lib/mirror/mirror')
  return new Mirror(mirrored, settings).run()
}

/**
 * Copies a stream into a log in a file: each message once and in order, as bytes, and what is deleted in the stream is deleted there. The log must be
 * empty, or have been pulled from this stream, and nothing else may append to it. It waits for servers as long as it takes, and can be interrupted
 * at any time: the next call goes on. FILE.pull, beside the log, says how far it is.
 *
 * @param {StreamSource} source
 * @param {object} log that this package has opened, with callbacks or promises, without `shared`
 * @param {PullOptions} [options]
 * @returns {Promise<Pulled>} resolves, with `live: false`, when the log equals the stream. Rejects, with what was pulled kept, with the signal's reason;
 *   `flumelog:replaced` if the stream is not the one that was pulled, or ends before the log does; `flumelog:invalid` if an option is invalid, the log has other
 *   records, or a message is no valid record; `flumelog:too-large` if one is too large for the log; `flumelog:unreachable`; `flumelog:server`; and as `append` of the log
 */
async function pull (source, log, options = {}) {
  const copy = new CopiedLog(log)
  // loaded then: most programs pull nothing
  return require('./lib/pull/pull').pull(source, copy, options)
}

module.exports = JetStreamLog
module.exports.pull = pull
module.exports.mirror = mirror
module.exports.envelope = envelope
