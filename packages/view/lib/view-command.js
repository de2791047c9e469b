'use strict'

// flumelog view: shows a log in a browser.

const path = require('path')
const FlumeLog = require('flumelog-random-access-file')
const { choiceOption, close, codeOf, ENCODING_ALIASES, fileName, helpText, InvalidArgumentError, stopped, UserError, writeStderr } = require('flumelog-random-access-file/command')
const { openBrowser } = require('./browser')
const { startServer } = require('./server')

/** Bytes: what is looked at again, as when the reader scrolls back, need not be read again. */
const CACHE_SIZE = 16 * 1024 * 1024

/**
 * @typedef {object} ViewOptions
 * @property {number} port
 * @property {boolean} open whether to open a browser
 * @property {string} [encoding]
 * @property {string} [codec]
 */

const EXAMPLES = `
Examples:
  flumelog view my.log
  flumelog view my.log --port 8080 --no-open
  flumelog view my.log --codec ./my-codec.js

The log is opened read-only, and is followed if another process writes it. The server listens on 127.0.0.1, and answers only browsers that were given the token in the address: do not pass that on. A codec is a module with a function \`decode\`, which is given the bytes of a record and returns what is shown; with \`buffer: false\` it is given text.

Ctrl-C stops it.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('view')
    .summary('look into a log in a browser')
    .description('Starts a server on this machine that shows a log in a browser: its records, its blocks, its numbers, and what is appended.')
    .argument('<file>', 'the log', fileName)
    .option('--port <number>', 'port of the server; 0: a free one', port, 0)
    .option('--no-open', 'print the address, and open no browser')
    .addOption(choiceOption('-e, --encoding <name>', 'what records contain; default: found by trying', ['json', 'utf8', 'hex', 'bipf', 'cbor', 'msgpack'], ENCODING_ALIASES))
    .option('--codec <module>', 'a module that decodes records', fileName)
    .addHelpText('after', helpText(EXAMPLES))
    .action(view)
}

/**
 * @param {string} file
 * @param {ViewOptions} options
 * @param {import('commander').Command} command
 */
async function view (file, { port, open, encoding, codec: module }, command) {
  if (encoding !== undefined && module !== undefined) command.error('--encoding cannot be used with --codec')
  const codec = module === undefined ? undefined : await loadCodec(module)
  const log = FlumeLog(file, { readOnly: true, large: true, cacheSize: CACHE_SIZE })
  await new Promise((resolve, reject) => log.onReady(err => err ? reject(err) : resolve(undefined)))
  const server = await startServer(log, { port, encoding, codec }).catch(async (err) => {
    await close(log)
    throw codeOf(err) === 'EADDRINUSE' ? new UserError(`${file}: port ${port} is taken; use another one, or none`) : err
  })
  process.stdout.write(`${server.address}\n`)
  if (!open) writeStderr(`${file}: open this address in a browser; Ctrl-C stops the server`)
  else if (await openBrowser(server.address)) writeStderr(`${file}: opening a browser; Ctrl-C stops the server`)
  else writeStderr(`${file}: no browser was found; open this address in one. Ctrl-C stops the server`)
  await stopped()
  await server.close()
  await close(log)
}

/**
 * @param {string} name of a module, from the current directory
 * @returns {Promise<import('./types').ReadCodec>}
 */
async function loadCodec (name) {
  const file = path.resolve(name)
  const loaded = await import(require('url').pathToFileURL(file).href).catch(err => {
    // not which module of this package, or of others, has looked for it
    throw new UserError(`${name}: the codec cannot be loaded: ${String(err?.message ?? err).split(/\n| imported from /)[0]}`)
  })
  const codec = [loaded, loaded.default].find(module => typeof module?.decode === 'function')
  if (codec === undefined) throw new UserError(`${name}: a codec must export a function \`decode\``)
  return codec
}

/**
 * @param {string} text
 * @returns {number}
 */
function port (text) {
  const number = /^\d+$/.test(text) ? Number(text) : -1
  if (number >= 0 && number <= 65535) return number
  throw new InvalidArgumentError('must be a port, an integer from 0 to 65535')
}

module.exports = { define }
