'use strict'

// flumelog view: shows a log, or several, in a browser.

const fs = require('fs')
const path = require('path')
const { choiceOption, codeOf, ENCODING_ALIASES, fileName, helpText, InvalidArgumentError, stopped, UserError, writeStderr } = require('flumelog-random-access-file/command')
const { openBrowser } = require('./browser')
const { LogList } = require('../http/log-list')
const { startServer } = require('../http/server')
const { ShownFile } = require('./shown-file')

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
  flumelog view a.log b.log
  flumelog view data/

Of several logs, and of a folder, a list is shown, which leads to each of them. A folder is looked at again when the list is loaded.

A log is opened read-only, and is followed if another process writes it. The server listens on 127.0.0.1, and answers only browsers that were given the token in the address: do not pass that on. A codec is a module with a function \`decode\`, which is given the bytes of a record and returns what is shown; with \`buffer: false\` it is given text.

Ctrl-C stops it.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('view')
    .summary('look into a log in a browser, or into several')
    .description('Starts a server on this machine that shows a log in a browser: its records, its blocks, its numbers, and what is appended.')
    .argument('<file...>', 'the log; several logs, or folders of logs, are listed', fileNames)
    .option('--port <number>', 'port of the server; 0: a free one', port, 0)
    .option('--no-open', 'print the address, and open no browser')
    .addOption(choiceOption('-e, --encoding <name>', 'what records contain; default: found by trying', ['json', 'utf8', 'hex', 'bipf', 'cbor', 'msgpack'], ENCODING_ALIASES))
    .option('--codec <module>', 'a module that decodes records', fileName)
    .addHelpText('after', helpText(EXAMPLES))
    .action(view)
}

/**
 * @param {string[]} files
 * @param {ViewOptions} options
 * @param {import('commander').Command} command
 */
async function view (files, { port, open, encoding, codec: module }, command) {
  if (encoding !== undefined && module !== undefined) command.error('--encoding cannot be used with --codec')
  const codec = module === undefined ? undefined : await loadCodec(module)
  const isList = files.length > 1 || fs.statSync(files[0], { throwIfNoEntry: false })?.isDirectory() === true
  const subject = files.length > 1 ? `${files[0]} and ${files.length - 1} more` : files[0]
  /** @type {ShownFile | LogList | null} */
  let shown = null
  const server = await startServer(async (access) => {
    const options = { ...access, encoding, codec }
    shown = isList ? new LogList(files, options) : new ShownFile(files[0], options)
    await shown.open()
    return shown
  }, port).catch(err => {
    throw codeOf(err) === 'EADDRINUSE' ? new UserError(`${subject}: port ${port} is taken; use another one, or none`) : err
  })
  process.stdout.write(`${server.address}\n`)
  if (!open) writeStderr(`${subject}: open this address in a browser; Ctrl-C stops the server`)
  else if (await openBrowser(server.address)) writeStderr(`${subject}: opening a browser; Ctrl-C stops the server`)
  else writeStderr(`${subject}: no browser was found; open this address in one. Ctrl-C stops the server`)
  await stopped()
  await server.close()
  await /** @type {ShownFile | LogList | null} */ (shown)?.close()
}

/**
 * @param {string} text
 * @param {string[]} [before]
 * @returns {string[]} of one more argument
 */
function fileNames (text, before = []) {
  return [...before, fileName(text)]
}

/**
 * @param {string} name of a module, from the current directory
 * @returns {Promise<import('../types').ReadCodec>}
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
