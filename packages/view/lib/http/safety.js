'use strict'

// Who may look at a log: a page on this machine that was given the token, and no page of another site.

const { timingSafeEqual, createHash } = require('crypto')
const { format } = require('flumelog-random-access-file/blocks')
const errors = require('../errors')

/** @typedef {import('http').IncomingMessage} Request */

/** Characters of an address. */
const MAX_URL = 8192
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']

/** Nothing is loaded from elsewhere, nothing inline is run, and no other page can frame this one. */
const HEADERS = {
  'content-security-policy': "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY'
}

/**
 * Against DNS rebinding, and requests that pages of other sites make.
 * @param {Request} request
 * @param {string[] | null} hosts names that lead here; null: the caller's server has checked that
 * @throws what is to be answered
 */
function mustBeFromHere ({ method, headers }, hosts) {
  if (method !== 'GET' && method !== 'HEAD') throw errors.refusal(405, 'method', 'only GET is answered')
  const { host = '', origin } = headers
  if (hosts !== null && !hosts.includes(host) && !hosts.includes(host.replace(/:\d+$/, ''))) {
    throw errors.refusal(403, 'host', `the view is not shown at ${format(host)}, only at ${hosts.join(', ')}. Use one of these, or name others in the option \`hosts\``)
  }
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) throw errors.refusal(403, 'origin', 'other sites may not ask')
  const site = headers['sec-fetch-site']
  const isNavigation = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !isNavigation) throw errors.refusal(403, 'origin', 'other sites may not ask')
}

/**
 * @param {string} address
 * @throws what is to be answered
 */
function mustBeShort (address) {
  if (address.length > MAX_URL) throw errors.refusal(414, 'too-long', `an address must have at most ${MAX_URL} characters`)
}

/**
 * A header, since a browser sends cookies to every server on this machine, whatever its port. Downloads have it in the address: a link
 * cannot have headers.
 * @param {Request} request
 * @param {URLSearchParams} search
 * @param {string} token
 * @throws what is to be answered
 */
function mustHaveToken ({ headers }, search, token) {
  if (!isToken(String(headers['flumelog-token'] ?? search.get('token') ?? ''), token)) {
    throw errors.refusal(403, 'token', 'use the address that flumelog view has printed in its terminal: it ends with ?token=…, without which the log is not shown')
  }
}

/**
 * @param {string} given
 * @param {string} token
 * @returns {boolean} in the same time whatever is given
 */
function isToken (given, token) {
  return timingSafeEqual(digest(given), digest(token))
}

/** @param {string} text */
function digest (text) {
  return createHash('sha256').update(text).digest()
}

module.exports = { HEADERS, LOOPBACK, mustBeFromHere, mustBeShort, mustHaveToken }
