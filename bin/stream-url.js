'use strict'

// The argument that names a stream of JetStream: nats://HOST/STREAM.

const { InvalidArgumentError } = require('commander')

/** @typedef {{ servers: string[], stream: string, user?: string, pass?: string, token?: string }} StreamAddress */

/**
 * @param {string} text such as nats://user:password@host1:4222,host2:4222/stream
 * @returns {StreamAddress}
 */
function streamUrl (text) {
  const parts = /^(nats|tls):\/\/(?:([^@/]*)@)?([^@/]+)\/([^/]+)$/.exec(text)
  if (parts === null) throw new InvalidArgumentError('must be nats://HOST:PORT/STREAM, or nats://USER:PASSWORD@HOST:PORT/STREAM, with several hosts separated by commas')
  const [, protocol, login, hosts, stream] = parts
  const [user, pass] = (login ?? '').split(':').map(decodeURIComponent)
  const access = login === undefined ? {} : pass === undefined ? { token: user } : { user, pass }
  return { servers: hosts.split(',').map(host => `${protocol}://${host}`), stream: decodeURIComponent(stream), ...access }
}

module.exports = { streamUrl }
