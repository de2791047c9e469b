'use strict'

// How commands get at a stream: options, or the variables of the environment that the command `nats` reads, too, so that no secret has to be
// in a command line, which other users see. And what else commands with a stream take.

const { helpText, jsonOption, quietOption } = require('flumelog-random-access-file/command')
const { metricsPort } = require('./metrics')

/**
 * @typedef {{ creds?: string, ca?: string, cert?: string, key?: string }} AccessOptions
 * @typedef {AccessOptions & { live: boolean, metrics?: number, json?: boolean, quiet?: boolean }} StreamOptions
 * @typedef {Pick<import('../options').JetStreamOptions, 'user' | 'pass' | 'token' | 'creds' | 'tls'>} Access
 */

const ACCESS_HELP = `

Without an option, and without a user in the URL, these variables of the environment count: NATS_USER and NATS_PASSWORD, NATS_TOKEN, NATS_CREDS; NATS_CA, NATS_CERT and NATS_KEY. Other users of the machine see what is in a command line.`

/**
 * @param {import('commander').Command} command
 * @param {string} examples of its help
 * @returns {import('commander').Command} it
 */
function streamOptions (command, examples) {
  return command
    .option('--metrics <port>', 'serve metrics for Prometheus on this port of 127.0.0.1', metricsPort)
    .option('--creds <path>', 'file with the credentials of a NATS user')
    .option('--ca <path>', 'file with the certificates to trust; connects with TLS only')
    .option('--cert <path>', 'file with the certificate of the client, with --key; connects with TLS only')
    .option('--key <path>', 'file with the private key of --cert')
    .addOption(jsonOption())
    .addOption(quietOption())
    .addHelpText('after', helpText(examples + ACCESS_HELP))
}

/**
 * @param {Access} address what the URL says
 * @param {AccessOptions} options
 * @param {NodeJS.ProcessEnv} [environment]
 * @returns {Access}
 */
function accessOf (address, { creds, ca, cert, key }, environment = process.env) {
  const { NATS_USER: user, NATS_PASSWORD: pass, NATS_TOKEN: token } = environment
  const isNamed = address.user !== undefined || address.token !== undefined
  const files = {
    caFile: ca ?? environment.NATS_CA,
    certFile: cert ?? environment.NATS_CERT,
    keyFile: key ?? environment.NATS_KEY
  }
  const given = Object.fromEntries(Object.entries(files).filter(([, path]) => path))
  const credentials = creds ?? (isNamed ? undefined : environment.NATS_CREDS)
  return {
    ...(credentials && { creds: credentials }),
    ...(!isNamed && user && { user, pass: pass ?? '' }),
    ...(!isNamed && token && { token }),
    ...(Object.keys(given).length > 0 && { tls: given })
  }
}

module.exports = { streamOptions, accessOf }
