'use strict'

// What callers give to `backup`, and get from it. Types only.

/**
 * @typedef {object} BackupOnlyOptions
 * @property {boolean} [full] copy all of the log, also if there is an earlier backup, which is replaced when the copy is complete; default false
 *
 * @typedef {BackupOnlyOptions & import('../work').WorkOptions} BackupOptions
 *
 * @typedef {object} BackedUp
 * @property {number} bytes of the backup, from its start to its end: nothing before its start takes space
 * @property {number} start where it starts: what was before that in the log has been trimmed, or compacted
 * @property {number} copied bytes that were written into it
 * @property {boolean} incremental whether what is new was appended to an earlier backup
 *
 * @typedef {(err: import('../errors').CallbackError | null, result: BackedUp) => void} BackupCallback
 */

module.exports = {}
