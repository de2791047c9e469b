'use strict'

// The streams of NATS JetStream that commands are given: nats://HOST/STREAM.

const { InvalidArgumentError } = require('commander')

/**
 * @param {string} text nats://[USER:PASS@]HOST[:PORT][,HOST[:PORT]…]/STREAM; `tls://` connects with TLS only
 * @returns {{ servers: string[], stream: string, user?: string, pass?: string, token?: string, tls?: true }}
 */
function streamUrl (text) {
  const [, scheme, user, pass, hosts, stream] = /^(nats|tls):\/\/(?:([^:@/]+)(?::([^@/]*))?@)?([^\s@/]+)\/([^\s.*>/\\]+)$/.exec(text) ?? []
  if (stream === undefined) throw new InvalidArgumentError('must be nats://HOST/STREAM, such as nats://127.0.0.1:4222/messages')
  return {
    servers: hosts.split(',').map(host => `nats://${host}`),
    stream: decodeURIComponent(stream),
    ...user === undefined ? {} : pass === undefined ? { token: decodeURIComponent(user) } : { user: decodeURIComponent(user), pass: decodeURIComponent(pass) },
    ...scheme === 'tls' ? { tls: true } : {}
  }
}

module.exports = { streamUrl }
