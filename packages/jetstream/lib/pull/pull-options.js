'use strict'

// The options of pull, and what it tells.

const { optionNames, workFor } = require('flumelog-random-access-file/blocks')
const { settingsOf } = require('../options')

const SOURCE_NAMES = /** @type {const} */ (['stream', 'servers', 'connection', 'user', 'pass', 'token', 'creds', 'tls', 'name', 'timeout', 'onStatus'])
const checkSourceNames = optionNames('the source', [...SOURCE_NAMES])
const checkOptions = workFor('pull', ['live', 'envelope'])

/**
 * @typedef {Pick<import('../options').JetStreamOptions, (typeof SOURCE_NAMES)[number]>} StreamSource
 *   a stream, as for a log in it. `timeout` is that of the first connection: later, with `live`, a server is waited for as long as it takes
 *
 * @typedef {object} PullOptions
 * @property {boolean} [live] go on as the stream grows, until `signal` is aborted; default true. false: until the log equals the stream
 * @property {boolean} [envelope] store with each message its sequence, time and subject: see `envelope`; default false. It cannot be changed later
 * @property {(progress: PullProgress) => void} [onProgress] called after each batch, and each second; what it throws ends the work
 * @property {AbortSignal} [signal] ends the work, with its reason
 *
 * @typedef {object} Pulled what this call has done
 * @property {number} records that were appended
 * @property {number} bytes of these records
 * @property {number} deleted records that were deleted since their messages are
 * @property {number} seq of the last message of the stream that the log has; 0: none
 *
 * @typedef {object} PullLag
 * @property {number} lag sequences of the stream that are still to be pulled
 * @property {boolean} isConnected whether there is a connection to a server; without one, it waits
 *
 * @typedef {Pulled & PullLag} PullProgress
 */

/**
 * @param {StreamSource} source
 * @param {PullOptions} options
 * @returns {{ settings: import('../options').Settings, live: boolean, signal: AbortSignal | undefined, onProgress: (progress: PullProgress) => void }}
 */
function pullSettingsOf (source, options) {
  checkSourceNames(source)
  checkOptions(options)
  const { live = true, envelope = false, signal, onProgress = () => {} } = options
  const name = source.connection === undefined ? { name: 'flumelog pull' } : {}
  return { settings: { ...settingsOf({ ...name, ...source, readOnly: true }), envelope }, live, signal, onProgress }
}

module.exports = { pullSettingsOf }
