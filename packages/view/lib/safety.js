'use strict'

// Who may look at a log: a browser on this machine that was given the token, and no page of another site.

const { timingSafeEqual, createHash } = require('crypto')
const errors = require('./errors')

/** @typedef {import('http').IncomingMessage} Request */

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
    throw errors.refusal(403, 'host', 'this name does not lead to the viewer; use the address that it has printed')
  }
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) throw errors.refusal(403, 'origin', 'other sites may not ask')
  const site = headers['sec-fetch-site']
  const isNavigation = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !isNavigation) throw errors.refusal(403, 'origin', 'other sites may not ask')
}

/**
 * Cookies do not tell ports apart, so their names do.
 * @param {Request} request
 */
function cookieName ({ socket }) {
  return `flumelog-view-${socket.localPort ?? 0}`
}

/**
 * @param {Request} request
 * @param {string} token
 * @returns {boolean} whether it has the token in its cookie
 */
function hasCookie (request, token) {
  const name = cookieName(request)
  const cookies = (request.headers.cookie ?? '').split(';').map(cookie => cookie.trim())
  return cookies.some(cookie => cookie.startsWith(`${name}=`) && isToken(cookie.slice(name.length + 1), token))
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

module.exports = { HEADERS, LOOPBACK, cookieName, hasCookie, isToken, mustBeFromHere }
