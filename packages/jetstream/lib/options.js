'use strict'

// The options of a log in a JetStream stream: defaults and validation.

const net = require('net')
const { callbacks: { mustBeFunction }, format, optionNames } = require('flumelog-random-access-file/blocks')
const { settingsOf: logSettingsOf } = require('flumelog-random-access-file/parts')
const errors = require('./errors')

/**
 * @template [T=Buffer]
 * @typedef {object} JetStreamOptions
 * @property {string} stream the name of the stream; one that does not exist is created, unless `readOnly` is on
 * @property {string | string[]} [servers] where the servers are, `nats://host:port`; default `nats://127.0.0.1:4222`
 * @property {import('@nats-io/transport-node').NatsConnection} [connection] one that is open already, instead of `servers`, `user`, `pass`, `token`, `creds`, `tls` and
 *   `name`; it stays open when the log is closed
 * @property {string} [subject] what the subjects of the records start with; default: the name of the stream
 * @property {import('flumelog-random-access-file').Codec<T> | 'json'} [codec] `'json'`: records are values of JSON. Default: records are Buffers; Uint8Arrays and strings can be appended too
 * @property {number} [partitions] how many streams share the log, by `key`: STREAM-0, STREAM-1 and so on, and the same for `subject`; 1 to 1024. It cannot be changed later
 * @property {(value: any) => string} [key] with `partitions`: of a value that is appended. Records with the same key keep their order
 * @property {StreamSettings} [config] more settings of the stream, if it is created, with the names and units of the server
 * @property {number} [replicas] number of servers that store the stream, if it is created: 1, 3 or 5; default 1
 * @property {number} [duplicateWindow] milliseconds, 100 or more, for which the key of an append holds: of a stream that is created; default 120000. An existing one with a shorter window is refused
 * @property {string} [user] with `pass`
 * @property {string} [pass] with `user`
 * @property {string} [token] instead of a user
 * @property {string | Uint8Array} [creds] path of a `.creds` file, or its bytes
 * @property {TlsOptions | true} [tls] connect with TLS only; true: with the certificates that Node.js trusts
 * @property {string} [name] of the connection, for the server's monitoring; default 'flumelog'
 * @property {string | null} [filename] the path beside which flumedb's views put their files (missing parent directories are created); the log itself has none; default null
 * @property {number} [highWaterMark] limit on bytes that are not acknowledged, beyond which a sink waits; default 16 MiB
 * @property {number} [timeout] milliseconds that no server may answer before opening, reads and `close` fail with `flumelog:unreachable`; default 10000
 * @property {boolean} [readOnly] refuse appends and deletions; default false
 * @property {(status: ConnectionStatus) => void} [onStatus] called when the connection breaks, and when it is there again; of `mirror` and `pull`, also when they fall behind, and when they have caught up
 *
 * @typedef {object} ConnectionStatus
 * @property {'disconnect' | 'reconnect' | 'lag' | 'current'} type
 * @property {string} stream
 * @property {string} server that the connection was to, or is to now
 * @property {number} [lag] of `'lag'` and `'current'`: that of the progress
 *
 * @typedef {Partial<Pick<import('@nats-io/jetstream').StreamConfig, (typeof CONFIG_NAMES)[number]>>} StreamSettings
 *
 * @typedef {object} TlsOptions
 * @property {string | Uint8Array} [ca] certificates to trust, in PEM
 * @property {string | Uint8Array} [cert] the client's certificate, in PEM; with its key
 * @property {string | Uint8Array} [key] its private key, in PEM; with the certificate
 * @property {string} [caFile] path of certificates to trust
 * @property {string} [certFile] path of the client's certificate
 * @property {string} [keyFile] path of its private key
 * @property {boolean} [handshakeFirst] as the server's `handshake_first`; default false
 */

/** @typedef {ReturnType<typeof settingsOf>} Settings */

/** Milliseconds: about a hundred days. */
const MAX_WINDOW = Math.floor(Number.MAX_SAFE_INTEGER / 1e6)

/** Settings of a stream that do not change what a log is. */
const CONFIG_NAMES = /** @type {const} */ (['description', 'max_msgs', 'max_bytes', 'max_age', 'discard', 'compression', 'placement', 'metadata'])
const MAX_PARTITIONS = 1024

const checkTlsNames = optionNames('tls', ['ca', 'cert', 'key', 'caFile', 'certFile', 'keyFile', 'handshakeFirst'])
const checkConfigNames = optionNames('config', [...CONFIG_NAMES])
const checkNames = optionNames('the log', [
  'stream', 'servers', 'connection', 'subject', 'partitions', 'key', 'config', 'codec', 'replicas', 'duplicateWindow', 'user', 'pass', 'token', 'creds', 'tls', 'name', 'filename', 'highWaterMark', 'timeout', 'readOnly', 'onStatus'
])

/**
 * @param {JetStreamOptions<any>} options
 * @throws flumelog:invalid
 */
function settingsOf (options) {
  checkNames(options)
  const { stream, servers = 'nats://127.0.0.1:4222', replicas = 1, timeout = 10_000, filename = null, name = 'flumelog' } = options
  const { subject = stream, duplicateWindow, codec, highWaterMark, readOnly, partitions, key, config = {}, onStatus, creds, tls, connection } = options
  // in a name, these would separate, or match, the tokens of subjects, or the folders of the server
  mustMatch('stream', stream, /^[^\s.*>/\\]+$/, 'without spaces, dots, `*`, `>`, `/` and `\\`')
  mustMatch('subject', subject, /^[^\s.*>]+(\.[^\s.*>]+)*$/, 'of tokens with dots between them, without spaces, `*` and `>`')
  const list = [servers].flat()
  const wrong = list.findIndex(server => !isServer(server))
  if (wrong !== -1 || list.length === 0) {
    throw errors.invalid(`servers must be an address such as nats://127.0.0.1:4222, without a user, and with a port from 1 to 65535 if it has one; or an array of them; it is ${format(list[wrong] ?? servers)}`)
  }
  for (const name of /** @type {const} */ (['user', 'pass', 'token'])) if (options[name] !== undefined) mustMatch(name, options[name], /./, 'that is not empty')
  mustMatch('name', name, /./, 'that is not empty')
  if (filename !== null) mustMatch('filename', filename, /./, 'that is not empty, or null')
  if (![1, 3, 5].includes(replicas)) throw errors.invalid(`replicas must be 1, 3 or 5; it is ${format(replicas)}`)
  if (!Number.isInteger(timeout) || timeout < 1 || timeout > 2 ** 31 - 1) throw errors.invalid(`timeout must be an integer from 1 to ${2 ** 31 - 1}; it is ${format(timeout)}`)
  // the server's least, and the most nanoseconds that are exact as a number
  if (duplicateWindow !== undefined && !(Number.isInteger(duplicateWindow) && duplicateWindow >= 100 && duplicateWindow <= MAX_WINDOW)) {
    throw errors.invalid(`duplicateWindow must be an integer from 100 to ${MAX_WINDOW}; it is ${format(duplicateWindow)}`)
  }
  checkConfigNames(config)
  if (onStatus !== undefined) mustBeFunction('onStatus', onStatus)
  if (partitions !== undefined && !(Number.isInteger(partitions) && partitions >= 1 && partitions <= MAX_PARTITIONS)) {
    throw errors.invalid(`partitions must be an integer from 1 to ${MAX_PARTITIONS}; it is ${format(partitions)}`)
  }
  if (partitions === undefined ? key !== undefined : typeof key !== 'function') throw errors.invalid(`key must be a function with partitions, and not be given without; it is ${format(key)}`)
  if (connection !== undefined) {
    if (typeof connection?.isClosed !== 'function') throw errors.invalid(`connection must be a connection of @nats-io/transport-node; it is ${format(connection)}`)
    const other = ['servers', 'user', 'pass', 'token', 'creds', 'tls', 'name'].find(name => options[/** @type {'name'} */ (name)] !== undefined)
    if (other !== undefined) throw errors.invalid(`${other} must not be given with connection, which says how to connect`)
  }
  if (creds !== undefined && !(creds instanceof Uint8Array)) mustMatch('creds', creds, /./, 'that is a path, or a Uint8Array')
  if (tls !== undefined && tls !== true && (tls === null || typeof tls !== 'object')) throw errors.invalid(`tls must be true or an object; it is ${format(tls)}`)
  if (tls !== undefined && tls !== true) checkTlsNames(tls)
  return {
    ...options,
    ...commonSettingsOf({ codec, highWaterMark, readOnly }),
    servers: list,
    subject,
    config,
    /** Of a stream that is one of several: which of how many. @type {string | undefined} */
    partition: undefined,
    /** Whether records are messages with their sequence, time and subject: see `envelope.js`. */
    envelope: false,
    /** Settled when it may be opened. @type {Promise<void> | undefined} */
    waitFor: undefined,
    replicas,
    name,
    filename,
    timeout
  }
}

/** @param {unknown} server @returns {boolean} whether the client can make an address of it */
function isServer (server) {
  if (typeof server !== 'string' || /\s/.test(server)) return false
  const address = server.replace(/^(nats|tls):\/\//, '')
  if (net.isIPv6(address)) return true
  try {
    const { username, port, pathname } = new URL(`http://${address}`)
    return username === '' && port !== '0' && pathname === '/'
  } catch {
    return false
  }
}

/**
 * @param {string} name
 * @param {unknown} value
 * @param {RegExp} pattern
 * @param {string} what it must be
 */
function mustMatch (name, value, pattern, what) {
  if (typeof value !== 'string' || !pattern.test(value)) throw errors.invalid(`${name} must be a string ${what}; it is ${format(value)}`)
}

/**
 * @param {Pick<JetStreamOptions<any>, 'codec' | 'highWaterMark' | 'readOnly'>} options that a log in a file has, too
 * @throws flumelog:invalid
 */
function commonSettingsOf (options) {
  const { codec, highWaterMark, readOnly } = logSettingsOf(options)
  return { codec, highWaterMark, readOnly }
}

module.exports = { settingsOf, commonSettingsOf }
