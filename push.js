// The types need those of Node.js, which TypeScript 6 and later load only where this is said.
/// <reference types="node" preserve="true" />

'use strict'

// A log whose streams are push-streams, for sinks written for flumelog-aligned-offset
// or async-append-only-log.

const { PushSource } = require('./lib/wrappers/push-source')

/**
 * @typedef {import('./lib/read/options').StreamOptions} StreamOptions
 * @typedef {import('./lib/errors').LogError} LogError
 * @typedef {import('./lib/errors').SystemError} SystemError
 * @typedef {import('./lib/errors').CallbackError} CallbackError
 * @typedef {import('./lib/errors').ErrorCode} ErrorCode
 */

/**
 * @template [I=any]
 * @typedef {import('./lib/types').PushStream<I>} PushStream
 */

/**
 * @template T
 * @typedef {{
 *   (options?: StreamOptions & { seqs?: true, values?: true, deleted?: false }): PushStream<import('./lib/read/source').LogRecord<T>>,
 *   (options: StreamOptions & { seqs?: true, values?: true, deleted: true }): PushStream<import('./lib/read/source').SizedRecord<T>>,
 *   (options: StreamOptions & { values: false }): PushStream<number>,
 *   (options: StreamOptions & { seqs: false, values?: true, deleted?: false }): PushStream<T>,
 *   (options: StreamOptions): PushStream<any>
 * }} StreamFunction
 */

/**
 * @template T
 * @template A
 * @typedef {object} PushMembers
 * @property {StreamFunction<T>} stream the source of a push-stream of records as `{ seq, value }`, of their seqs
 *   (`values: false`) or of their values (`seqs: false`)
 * @property {import('./lib/types').FlumeLog<T, A>} flumelog the wrapped log, with pull-streams
 */

/**
 * A log with push-streams; `flumelog` is the wrapped log.
 * @template [T=Buffer]
 * @template [A=T]
 * @typedef {Omit<import('./lib/types').FlumeLog<T, A>, 'stream'> & PushMembers<T, A>} PushLog
 */

/**
 * Wraps a log so that its streams are push-streams; nothing else changes.
 * @template T, A
 * @param {import('./lib/types').FlumeLog<T, A>} log
 * @returns {PushLog<T, A>}
 */
function wrap (log) {
  const stream = (/** @type {StreamOptions} */ options) => new PushSource(log.stream(options))
  // ordinary properties of its own, as those of the log are
  const members = { ...Object.getOwnPropertyDescriptors(log), ...Object.getOwnPropertyDescriptors({ stream, flumelog: log }) }
  return Object.create(log, members)
}

module.exports = wrap
