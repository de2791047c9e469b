'use strict'

// What `mirror` is given: defaults and validation.

const { optionNames, workFor } = require('flumelog-random-access-file/blocks')
const { checkCursor } = require('../cursors/cursor-consumer')
const { settingsOf } = require('../options')

const TARGET_NAMES = /** @type {const} */ (['stream', 'servers', 'connection', 'subject', 'replicas', 'user', 'pass', 'token', 'creds', 'tls', 'name', 'timeout', 'config', 'onStatus'])
const checkTargetNames = optionNames('the target', [...TARGET_NAMES])

/**
 * @typedef {Pick<import('../options').JetStreamOptions, (typeof TARGET_NAMES)[number]>} StreamTarget
 *   a stream, as for a log in it. `timeout` is that of the first connection: later, a server is waited for as long as it takes
 *
 * @typedef {object} Mirrored what this call has done
 * @property {number} records that were mirrored
 * @property {number} bytes of these records
 * @property {number} deleted messages that were deleted since their records are
 *
 * @typedef {object} MirrorLag
 * @property {number} lag bytes of the log that are still to be mirrored
 * @property {number} total bytes of the log
 * @property {boolean} isConnected whether there is a connection to a server; without one, it waits
 *
 * @typedef {Mirrored & MirrorLag} MirrorProgress
 *
 * @typedef {object} MirrorOptions
 * @property {boolean} [live] go on as the log grows, until `signal` is aborted, or the log is closed; default true. false: until the stream equals the log
 * @property {boolean} [keepDeleted] keep messages of records that are deleted, trimmed, or dropped by a compaction; default false
 * @property {string} [cursor] name of the log's cursor that says what is mirrored; default: `mirror-STREAM`
 * @property {(progress: MirrorProgress) => void} [onProgress] called after each batch, several times per second at the end of the log, and each second while it waits; what it throws ends the work
 * @property {AbortSignal} [signal] ends the work, with its reason
 */

/**
 * @typedef {object} MirrorSettings
 * @property {import('../options').Settings} target
 * @property {boolean} live
 * @property {boolean} keepDeleted
 * @property {string} cursor
 * @property {MirrorOptions['onProgress']} onProgress
 * @property {AbortSignal | undefined} signal
 */

const checkOptions = workFor('mirror', ['live', 'keepDeleted'], ['cursor'])

/**
 * @param {StreamTarget} target
 * @param {MirrorOptions} options
 * @returns {MirrorSettings}
 * @throws flumelog:invalid
 */
function mirrorSettingsOf (target, options) {
  checkTargetNames(target)
  checkOptions(options)
  const { live = true, keepDeleted = false, onProgress, signal } = options
  const stream = settingsOf(target.connection === undefined ? { name: 'flumelog mirror', ...target } : target)
  const cursor = options.cursor ?? `mirror-${stream.stream}`
  checkCursor(cursor, {})
  return { target: stream, live, keepDeleted, cursor, onProgress, signal }
}

module.exports = { mirrorSettingsOf }
