'use strict'

// A log whose streams are push-streams, for sinks written for flumelog-aligned-offset
// or async-append-only-log.

const { PushSource } = require('./lib/wrappers/push-source')

/**
 * @typedef {import('./lib/read/options').StreamOptions} StreamOptions
 */

/**
 * What a stream gives depends on its options.
 * @template T
 * @typedef {{
 *   (options?: StreamOptions & { seqs?: true, values?: true }): PushSource<import('./lib/read/source').LogRecord<T>>,
 *   (options: StreamOptions & { values: false }): PushSource<number>,
 *   (options: StreamOptions & { seqs: false, values?: true }): PushSource<T>,
 *   (options: StreamOptions): PushSource<any>
 * }} StreamFunction
 */

/**
 * A log with push-streams; `flumelog` is the wrapped log.
 * @template [T=Buffer]
 * @template [A=T]
 * @typedef {Omit<import('./lib/log').FlumeLog<T, A>, 'stream'> & {
 *   stream: StreamFunction<T>,
 *   flumelog: import('./lib/log').FlumeLog<T, A>
 * }} PushLog
 */

/**
 * Wraps a log so that its streams are push-streams; nothing else changes.
 * @template T, A
 * @param {import('./lib/log').FlumeLog<T, A>} log
 * @returns {PushLog<T, A>}
 */
function wrap (log) {
  const stream = (/** @type {StreamOptions} */ options) => new PushSource(log.stream(options))
  // ordinary properties of its own, as those of the log are
  const members = { ...Object.getOwnPropertyDescriptors(log), ...Object.getOwnPropertyDescriptors({ stream, flumelog: log }) }
  return Object.create(log, members)
}

module.exports = wrap
