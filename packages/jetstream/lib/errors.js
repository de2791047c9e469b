'use strict'

// Errors of a log in a stream, of mirrors and copies; the others are those of the log.

const { errors } = require('flumelog-random-access-file/blocks')

const { createError } = errors

/** The name in messages; a stream may have none. */
const nameOf = (/** @type {string | null} */ filename) => filename === null ? 'the log' : filename

/**
 * @param {string} filename
 * @param {number} timeout in milliseconds
 * @param {unknown} cause
 */
const serverUnreachable = (filename, timeout, cause) => createError('flumelog:unreachable',
  `${filename}: the NATS server has not answered within ${timeout} ms: ${/** @type {Error | null} */ (cause)?.message ?? 'not connected'}`, { filename, cause })

/**
 * @param {string} filename
 * @param {Error} cause what TLS says
 */
const untrusted = (filename, cause) => createError('flumelog:unreachable',
  `${filename}: the certificate of the NATS server is not trusted: ${cause.message}; say in tls.ca or tls.caFile which certificates to trust`, { filename, cause })

/**
 * @param {string} filename
 * @param {string} problem
 * @param {unknown} cause
 */
const invalidAccess = (filename, problem, cause) => createError('flumelog:invalid', `${filename}: ${problem}`, { filename, cause })

/**
 * @param {string} filename
 * @param {Error} [cause] what the server said when it was repeated
 */
const appendsUnknown = (filename, cause) => createError('flumelog:unreachable',
  `${filename}: the connection was closed before a NATS server had answered; it is unknown whether the append is stored, and it is not repeated${cause === undefined ? '' : ` any more: ${cause.message}`}`, { filename, cause })

/**
 * @param {string} filename
 * @param {Error} cause what the server said
 */
const refusedByServer = (filename, cause) => createError('flumelog:server',
  `${filename}: the NATS server refused the request: ${cause.message}`, { filename, cause })

/**
 * @param {string} filename
 * @param {Error} cause what the server said
 */
const serverFull = (filename, cause) => createError('ENOSPC',
  `${filename}: the NATS server has no space for this stream: ${cause.message}`, { filename, cause })

/**
 * @param {string} filename
 * @param {string} problem what the stream has, and what it needs
 */
const unsuitableStream = (filename, problem) => createError('flumelog:invalid', `${filename}: ${problem}`, { filename })

/**
 * @param {string} filename
 * @param {string} problem
 */
const cannotMirror = (filename, problem) => createError('flumelog:invalid', `${filename}: the log cannot be mirrored there: ${problem}`, { filename })

/**
 * @param {string} filename
 * @param {string} cursor its name
 */
const alreadyMirrored = (filename, cursor) => createError('flumelog:locked', `${filename}: another call of mirror, with the cursor '${cursor}', copies the log there`, { filename })

/**
 * @param {string | null} filename
 * @param {number} seq of a chunk
 */
const chunkInMirror = (filename, seq) => createError('flumelog:invalid',
  `${nameOf(filename)}: the log cannot be mirrored: the record at offset ${seq} is a part of a large one; open the log with the option large`, { filename, offset: seq })

/**
 * @param {string} filename
 * @param {string} what was called
 */
const notOfStream = (filename, what) => createError('flumelog:invalid',
  `${filename}: ${what} is not available for a log in a JetStream stream`, { filename })

/**
 * @param {string} filename
 * @param {string} what was called
 */
const notOfPartitions = (filename, what) => createError('flumelog:invalid',
  `${filename}: ${what} is not available for a log with partitions; call it on one of log.partitions`, { filename })

/**
 * @param {string} filename
 * @param {number} length of the record in bytes
 * @param {number} most in bytes
 */
const tooLargeForStream = (filename, length, most) => createError('flumelog:too-large',
  `${filename}: a record of ${length} bytes is too large: the maximum is ${most} bytes, by max_msg_size of the stream and max_payload of the server`, { filename, length, most })

/**
 * @param {string} filename
 * @param {number} records
 * @param {number} most
 */
const tooManyTogether = (filename, records, most) => createError('flumelog:too-large',
  `${filename}: an atomic batch of ${records} records is too large: the maximum is ${most}`, { filename, records, most })

/**
 * @param {string} filename
 * @param {number} seq
 * @param {unknown} cause
 */
const undecodable = (filename, seq, cause) => createError('flumelog:corrupt',
  `${filename}: the codec cannot decode the record ${seq}`, { filename, offset: seq, cause })

/**
 * @param {string | null} filename of what should be a copy of a stream
 * @param {string} problem
 */
const cannotCopy = (filename, problem) => createError('flumelog:invalid', `${nameOf(filename)}: cannot pull: ${problem}`, { filename })

/**
 * @param {string | null} filename of a copy of a stream
 * @param {string} problem why this is not the stream that was copied
 */
const notSource = (filename, problem) => createError('flumelog:replaced',
  `${nameOf(filename)}: cannot pull: ${problem}; the copy stays as it is, pull to another file`, { filename })

/**
 * @param {string | null} filename of a copy of a stream
 * @param {string} label of the stream
 * @param {number} seq of the message
 * @param {any} cause
 */
const cannotPull = (filename, label, seq, cause) => createError(/** @type {import('flumelog-random-access-file').ErrorCode} */ (cause.code),
  `${nameOf(filename)}: message ${seq} of ${label} cannot be stored: ${cause.message.replace(`${nameOf(filename)}: `, '')}`, { filename, offset: seq, cause })

/**
 * @param {string} filename
 * @param {string} problem why it is not the stream that was opened
 */
const streamReplaced = (filename, problem) => createError('flumelog:replaced',
  `${filename}: ${problem}; seqs that were read or acknowledged before say nothing about it; open it again`, { filename })

/**
 * @param {string} filename
 * @param {Error} cause what the server said
 */
const mirrorDeleted = (filename, cause) => createError('flumelog:replaced',
  `${filename}: the stream was deleted; mirror again to create it anew`, { filename, cause })

/**
 * @param {string} filename
 * @param {string} name of a cursor
 * @param {Error} cause what the server said
 */
const cursorLost = (filename, name, cause) => createError('flumelog:replaced',
  `${filename}: the server does not have the cursor '${name}' any more: ${cause.message}`, { filename, cause })

/** @param {string} filename of the index of a copy of a stream */
const corruptCopyIndex = (filename) => createError('flumelog:corrupt',
  `${filename}: its first line is corrupt, so it is not known which stream was copied; remove the copy and this file, and pull again`, { filename })

module.exports = { ...errors, serverUnreachable, untrusted, invalidAccess, appendsUnknown, refusedByServer, serverFull, unsuitableStream, cannotMirror, alreadyMirrored, notOfStream, notOfPartitions, tooLargeForStream, tooManyTogether, undecodable, cannotCopy, notSource, cannotPull, streamReplaced, mirrorDeleted, chunkInMirror, corruptCopyIndex, cursorLost }
