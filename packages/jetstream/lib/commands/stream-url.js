'use strict'

// The streams of NATS JetStream that commands are given: nats://HOST[:PORT]/STREAM.

const { InvalidArgumentError } = require('flumelog-random-access-file/command')

/**
 * @param {string} text nats://[USER:PASS@]HOST[:PORT][,HOST[:PORT]…]/STREAM; `tls://` connects with TLS only
 * @returns {{ servers: string[], stream: string, user?: string, pass?: string, token?: string, tls?: true }}
 */
function streamUrl (text) {
  const [, scheme, user, pass, hosts, name] = /^(nats|tls):\/\/(?:([^:@/]+)(?::([^@/]*))?@)?([^\s@/]+)\/([^\s/]+)$/.exec(text) ?? []
  if (name === undefined) throw new InvalidArgumentError('must be nats://HOST[:PORT]/STREAM, such as nats://127.0.0.1:4222/messages')
  const stream = decode(name)
  if (/[\s.*>/\\]/.test(stream)) throw new InvalidArgumentError('must end in the name of a stream, which has no blanks, and none of . * > / \\')
  return {
    servers: hosts.split(',').map(host => `nats://${host}`),
    stream,
    ...user === undefined ? {} : pass === undefined ? { token: decode(user) } : { user: decode(user), pass: decode(pass) },
    ...scheme === 'tls' ? { tls: true } : {}
  }
}

/** @param {string} text of a URL */
function decode (text) {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new InvalidArgumentError('must have two hexadecimal digits after each %, such as %25 for % itself')
  }
}

module.exports = { streamUrl }
