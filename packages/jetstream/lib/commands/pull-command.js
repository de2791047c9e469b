'use strict'

// flumelog pull: keeps a log in a file equal to a stream of NATS JetStream.

const fs = require('fs')
const { wrap } = require('flumelog-random-access-file/promises')
const { blockSize, close, codeOf, count, counted, duration, explain, fileToCreate, openToWrite, printResult, rateOf, size, statusLine, UserError, writeStderr } = require('flumelog-random-access-file/command')
const { accessOf, streamOptions } = require('./access-options')
const { metricsText, workWithMetrics } = require('./metrics')
const { streamUrl } = require('./stream-url')

/**
 * @typedef {import('../..').PullProgress} PullProgress
 * @typedef {import('./access-options').StreamOptions & { envelope?: boolean, large?: boolean, blockSize?: number }} PullOptions
 */

const EXAMPLES = `
Examples:
  flumelog pull nats://127.0.0.1/posts copy.log
  flumelog pull nats://127.0.0.1/posts copy.log --no-live
  flumelog pull tls://n1.org/posts copy.log --creds my.creds

The log gets each message of the stream once, in order, and byte by byte; what is deleted or purged in the stream is deleted in the log. Other programs can read it meanwhile. FILE.pull says how far it is: after an interruption, a crash, or a restart of the servers, the same command continues. A stream that was deleted and created anew is refused; pull it to another file.

Ctrl-C, SIGTERM and SIGHUP stop it with exit code 0. With --no-live, it ends when the log equals the stream.`

/** @param {import('commander').Command} program */
function define (program) {
  streamOptions(program.command('pull')
    .summary('keep a copy of a stream of NATS JetStream')
    .description('Copies a stream of NATS JetStream into a log, and follows it. Creates the log if it does not exist.')
    .argument('<stream>', 'the stream, nats://HOST[:PORT]/STREAM', streamUrl)
    .argument('<file>', 'the log', fileToCreate)
    .option('--no-live', 'end when the log equals the stream')
    .option('--envelope', 'store the sequence, time and subject of each message with it')
    .option('--large', 'store messages that do not fit into a block in chunks')
    .option('--block-size <bytes>', 'block size of a new log; default: 65536', blockSize), EXAMPLES)
    .action(pull)
}

/**
 * @param {ReturnType<typeof streamUrl>} source
 * @param {string} file
 * @param {PullOptions} options
 */
async function pull (source, file, { live, envelope, large = false, blockSize, metrics, json, quiet, ...access }) {
  const JetStreamLog = require('../..')
  const stream = { ...source, ...accessOf(source, access) }
  if (!fs.existsSync(file)) await findStream(stream, file)
  const log = await openToWrite(file, { blockSize, large, cacheSize: 0 }, quiet).catch((err) => {
    throw new UserError(codeOf(err) === 'flumelog:locked' ? `${file}: another program writes to this log, or pulls into it` : explain(err, file))
  })
  const startedAt = performance.now()
  /** @type {PullProgress} */
  let progress = { records: 0, bytes: 0, deleted: 0, seq: 0, lag: 0, isConnected: true }
  const rate = rateOf(() => progress.records)
  const status = quiet ? null : statusLine(() => `pulling  ${progress.isConnected ? '' : 'waiting for a server  '}${counted(progress.records, 'record')}, ${size(progress.bytes)}  ${count(rate())} records/s  ${count(progress.lag)} behind`)
  const left = 'what was pulled is kept; the same command continues'
  const work = (/** @type {AbortSignal} */ signal) => JetStreamLog.pull(stream, log, {
    live,
    ...(envelope && { envelope }),
    signal,
    onProgress (now) {
      progress = now
      status?.update()
    }
  })
  try {
    if (live && !quiet) writeStderr(`${file}: pulling stream ${source.stream}; Ctrl-C stops it`)
    await workWithMetrics({ file, left, live, metrics, quiet }, () => metricsText('flumelog_pull', source.stream, { ...progress }), work)
  } catch (err) {
    const text = explain(err, file).replace('use the option large', 'use --large')
    throw new UserError(text)
  } finally {
    status?.stop()
    await close(log)
  }
  const seconds = Math.round(performance.now() - startedAt) / 1000
  const { isConnected, ...done } = progress
  printResult({ json, quiet }, file, summaryOf(progress, seconds), { stream: source.stream, file, ...done, seconds })
}

/**
 * Before a log is created for it.
 * @param {import('../options').JetStreamOptions} options
 * @param {string} file
 */
async function findStream (options, file) {
  const log = wrap(require('../..')({ ...options, readOnly: true }))
  try {
    await log.ready()
  } catch (err) {
    throw new UserError(explain(err, file))
  } finally {
    await log.close().catch(() => {})
  }
}

/**
 * @param {PullProgress} progress
 * @param {number} seconds
 */
function summaryOf ({ records, bytes, deleted, lag }, seconds) {
  const parts = [`pulled ${counted(records, 'record')}, ${size(bytes)}, in ${seconds < 60 ? `${seconds.toFixed(2)} s` : duration(seconds)}`]
  if (deleted > 0) parts.push(`${counted(deleted, 'record')} deleted`)
  if (lag > 0) parts.push(`${count(lag)} behind`)
  return parts.join('; ')
}

module.exports = { define }
