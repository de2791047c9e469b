// The types need those of Node.js, which TypeScript 6 and later load only where this is said.
/// <reference types="node" preserve="true" />

'use strict'

// Shows a log in a browser: a handler of requests, to be mounted in any server.

const { Handler } = require('./lib/http/handler')

/**
 * @typedef {import('./lib/types').ViewOptions} ViewOptions
 * @typedef {import('./lib/types').ReadCodec} ReadCodec
 * @typedef {import('flumelog-random-access-file').LogError} LogError
 * @typedef {import('flumelog-random-access-file').SystemError} SystemError
 * @typedef {import('flumelog-random-access-file').ErrorCode} ErrorCode
 */

/**
 * Makes a handler of requests that shows a log, and changes nothing in it. Mounted without a `token`, it answers everybody who reaches the
 * server by one of its `hosts`: put it behind the server's own authentication.
 * @param {import('flumelog-random-access-file').Log<any, any> | import('flumelog-random-access-file/promises').FlumeLog<any, any>} log which the caller opens, and closes
 * @param {ViewOptions} [options]
 * @returns {(request: import('http').IncomingMessage, response: import('http').ServerResponse) => void} for `http.createServer`, or a router
 * @throws flumelog:invalid
 */
function view (log, options) {
  const handler = new Handler(log, options ?? {})
  return (request, response) => handler.handle(request, response)
}

module.exports = view
