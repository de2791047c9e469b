'use strict'

// Credentials and certificates. They are checked before anything is sent: the client would read them for each attempt to connect, and try again.

const crypto = require('crypto')
const fs = require('fs')
const tls = require('tls')
const errors = require('../errors')

/** @type {Record<'ca' | 'cert' | 'key', { what: string, parse: (text: any) => unknown }>} */
const PARTS = {
  // a context takes any text for one
  ca: { what: 'certificate', parse: ca => new crypto.X509Certificate(ca) },
  cert: { what: 'certificate', parse: cert => tls.createSecureContext({ cert }) },
  key: { what: 'private key without a passphrase', parse: key => tls.createSecureContext({ key }) }
}

/**
 * @param {string | Uint8Array | undefined} creds
 * @param {string} label of the log, for errors
 * @returns {import('@nats-io/transport-node').Authenticator | undefined}
 * @throws flumelog:invalid if they are none
 */
function authenticatorOf (creds, label) {
  if (creds === undefined) return undefined
  const bytes = typeof creds === 'string' ? readFile(creds, label) : creds
  const authenticator = require('@nats-io/transport-node').credsAuthenticator(bytes)
  try {
    authenticator('nonce')
  } catch (err) {
    throw errors.invalidAccess(label, `${typeof creds === 'string' ? creds : 'creds'} has no credentials of a NATS user`, err)
  }
  return authenticator
}

/**
 * @param {any} given the option `tls`
 * @param {string} label of the log, for errors
 * @throws flumelog:invalid if something of it cannot be used
 */
function checkTls (given, label) {
  /** @type {{ ca?: any, cert?: any, key?: any }} */
  const parts = {}
  for (const [name, { what, parse }] of Object.entries(PARTS)) {
    const filename = given[`${name}File`]
    const text = filename === undefined ? given[name] : readFile(filename, label)
    if (text === undefined) continue
    try {
      parse(text)
    } catch (err) {
      throw errors.invalidAccess(label, `${filename ?? `tls.${name}`} has no ${what} in PEM: ${/** @type {Error} */ (err).message}`, err)
    }
    parts[/** @type {'ca'} */ (name)] = text
  }
  const { cert, key } = parts
  if ((cert === undefined) !== (key === undefined)) throw errors.invalidAccess(label, `tls has a ${cert === undefined ? 'key without a certificate' : 'certificate without a key'} of the client: both are needed, or none`, undefined)
  try {
    tls.createSecureContext({ cert, key })
  } catch (err) {
    throw errors.invalidAccess(label, `the key of tls (${given.keyFile ?? 'tls.key'}) is not that of its certificate (${given.certFile ?? 'tls.cert'}): ${/** @type {Error} */ (err).message}`, err)
  }
}

/**
 * @param {string} path
 * @param {string} label of the log, for errors
 * @returns {Buffer}
 * @throws flumelog:invalid
 */
function readFile (path, label) {
  try {
    return fs.readFileSync(path)
  } catch (err) {
    throw errors.invalidAccess(label, `${path} cannot be read: ${/** @type {Error} */ (err).message}`, err)
  }
}

module.exports = { authenticatorOf, checkTls }
