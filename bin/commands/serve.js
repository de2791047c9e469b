'use strict'

// flumelog serve: keeps a process running that owns a shared log.

const { fileToCreate, blockSize, syncOption } = require('../arguments')
const { codeOf, explain, reportError, writeStderr } = require('../errors')
const { untilStopped } = require('../interrupts')
const { count, counted, size } = require('../numbers')
const { close } = require('../open')
const { duration, statusLine } = require('../progress')
const { rateOf } = require('../rate')
const { openShared } = require('../shared')
const { helpText } = require('../usage')

/** Milliseconds between two polls of the log. */
const INTERVAL = 1000

/**
 * @typedef {import('../open').Log} Log
 *
 * @typedef {object} ServeOptions
 * @property {number} [blockSize]
 * @property {'always' | 'interval' | 'never'} sync
 * @property {boolean} [json]
 * @property {boolean} [quiet]
 */

const EXAMPLES = `
Examples:
  flumelog serve my.log
  flumelog serve my.log --json | jq '.clients | length'

The first process that opens a shared log owns it: it writes the file, and listens on FILE.socket for records from the others, which open the log with \`shared: true\` or run \`flumelog append\`. Without \`serve\`, one of these processes is the owner. With it, they can start and stop at any time, and the owner has no other work. If another process owns the log, \`serve\` waits, and takes over when that process closes the log or dies.

Ctrl-C, SIGTERM and SIGHUP stop it with exit code 0: everything acknowledged is fsynced, the log is closed, and one of the other processes takes over.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('serve')
    .summary('own a log that other processes append to')
    .description('Keeps a log open for other processes that append to it. Creates the log if it does not exist.')
    .argument('<file>', 'the log', fileToCreate)
    .option('--block-size <bytes>', 'block size of a new log; default: 65536', blockSize)
    .addOption(syncOption())
    .option('-j, --json', 'print counters every second and at exit, as lines of JSON')
    .option('-q, --quiet', 'print errors only')
    .addHelpText('after', helpText(EXAMPLES))
    .action(serve)
}

/**
 * @param {string} file
 * @param {ServeOptions} options
 */
async function serve (file, { blockSize, sync, json, quiet }) {
  const log = await openShared(file, { blockSize, sync, cacheSize: 0 }, quiet)
  const say = (/** @type {string} */ text) => { if (!json && !quiet) writeStderr(`${file}: ${text}`) }
  const printCounters = () => process.stdout.write(JSON.stringify({ role: log.role, ...log.stats() }) + '\n')
  const startedAt = performance.now()
  const rate = rateOf(() => log.stats().written.records)
  const status = json || quiet ? null : statusLine(() => describe(log, rate()))
  let { role } = log

  /** @type {Error | null} */
  let failure = null
  await untilStopped((signal) => new Promise(resolve => {
    const timer = setInterval(look, INTERVAL)
    signal.onabort = () => stop(null)
    // a reader that closes the pipe stops it, too
    if (json) process.stdout.removeAllListeners('error').on('error', () => stop(null))
    say(role === 'owner' ? 'serving; other processes can append' : 'another process owns this log; waiting to take over')
    look()

    function look () {
      status?.update()
      if (json) printCounters()
      if (log.role !== role) {
        role = log.role
        if (!process.stderr.isTTY) say('took over; serving')
      }
      // fails if the log takes no appends any more; nothing is written. The error of the operating system is that of a write that was in
      // progress: the disk is full, perhaps; the next one may succeed
      log.append([], (err) => { if (err && codeOf(err)?.startsWith('flumelog:')) stop(err) })
    }

    /** @param {Error | null} err */
    function stop (err) {
      clearInterval(timer)
      failure = err
      resolve(undefined)
    }
  }))

  const closeFailure = await close(log).catch(err => err)
  status?.stop()
  if (json) printCounters()
  const error = failure ?? closeFailure
  if (error) {
    reportError(explain(error, file))
    process.exitCode = 1
  }
  const { records, bytes } = log.stats().written
  say(`stopped after ${duration((performance.now() - startedAt) / 1000)}` +
    (log.role === 'owner' ? `: ${counted(records, 'record')}, ${counted(bytes, 'byte')} appended` : '; another process owns this log'))
}

/**
 * @param {Log} log
 * @param {number} perSecond
 * @returns {string}
 */
function describe (log, perSecond) {
  if (log.role === 'client') return 'waiting to take over'
  const { clients, written } = log.stats()
  return `serving ${counted(clients.length, 'client')}  ${count(perSecond)} records/s  ${counted(written.records, 'record')}, ${size(written.bytes)}`
}

module.exports = { define }
