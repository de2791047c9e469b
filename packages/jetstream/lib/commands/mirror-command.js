'use strict'

// flumelog mirror: copies a log into a stream of JetStream, and keeps it up to date.

const { byteProgress, choiceOption, close, codeOf, count, counted, cursorName, explain, fileName, openToRead, printResult, rateOf, size, statusLine, UserError } = require('flumelog-random-access-file/command')
const { accessOf, streamOptions } = require('./access-options')
const { metricsText, workWithMetrics } = require('./metrics')
const { streamUrl } = require('./stream-url')
const { mirror } = require('../..')

/**
 * @typedef {import('../..').MirrorProgress} MirrorProgress
 * @typedef {import('./access-options').StreamOptions & { keepDeleted?: boolean, cursor?: string, subject?: string, replicas: string }} Options
 */

const EXAMPLES = `
Examples:
  flumelog mirror my.log nats://localhost/posts             until it is stopped
  flumelog mirror my.log nats://localhost/posts --no-live   what there is now
  flumelog mirror my.log nats://n1,n2,n3/posts --replicas 3

Each record is stored once and in order, also if it is interrupted or a server is killed; the same command goes on. What is deleted in the log is deleted in the stream. Other programs may have the log open, and write to it. Each log needs a stream of its own, to which nothing else publishes; one that does not exist is created.

Ctrl-C, SIGTERM and SIGHUP stop it with exit code 0. With --no-live, it ends when the stream equals the log.`

/** @param {import('commander').Command} program */
function define (program) {
  streamOptions(program.command('mirror')
    .summary('copy a log into a JetStream stream, and keep that up to date')
    .description('Mirrors a log into a stream of NATS JetStream.')
    .argument('<file>', 'the log', fileName)
    .argument('<stream>', 'the stream, nats://HOST[:PORT]/STREAM', streamUrl)
    .option('--no-live', 'end when the stream equals the log')
    .option('--keep-deleted', 'keep in the stream what is deleted in the log')
    .addOption(choiceOption('--replicas <number>', 'servers that store the stream, if it is created', ['1', '3', '5']).default('1'))
    .option('--subject <subject>', 'what subjects of messages start with; default: the name of the stream')
    .option('--cursor <name>', 'cursor of the log that says what is mirrored; default: mirror-STREAM', cursorName), EXAMPLES)
    .action(run)
}

/**
 * @param {string} file
 * @param {ReturnType<typeof streamUrl>} address
 * @param {Options} options
 */
async function run (file, address, { live, keepDeleted, cursor, subject, replicas, metrics, json, quiet, ...access }) {
  const target = { ...address, ...accessOf(address, access), replicas: Number(replicas), ...(subject && { subject }) }
  /** @type {MirrorProgress} */
  let latest = { records: 0, bytes: 0, deleted: 0, lag: 0, total: 0, isConnected: true }
  const rate = rateOf(() => latest.records)
  const bar = quiet || live ? null : byteProgress('mirror')
  const status = quiet || !live ? null : statusLine(() => `mirroring  ${latest.isConnected ? '' : 'waiting for a server  '}${latest.lag === 0 ? 'up to date' : `${size(latest.lag)} behind`}  ${count(rate())} records/s  ${counted(latest.records, 'record')}`)
  const left = 'the stream has a part of the log; the same command goes on'
  const work = (/** @type {AbortSignal} */ signal) => mirrorFile(file, target, { live, keepDeleted, cursor, signal }, (progress) => {
    latest = progress
    status?.update()
    bar?.update(progress.total - progress.lag, progress.total)
  })
  try {
    await workWithMetrics({ file, left, live, metrics, quiet }, () => metricsText('flumelog_mirror', target.stream, { ...latest }), work)
  } catch (err) {
    // the cursor is, or what is opened read-only would not be
    const isHeld = codeOf(err) === 'flumelog:locked'
    throw err instanceof UserError ? err : new UserError(isHeld ? `${file}: another process mirrors this log into the stream: ${/** @type {Error} */ (err).message}` : explain(err, file))
  } finally {
    status?.stop()
    bar?.stop()
  }
  const { records, bytes, deleted } = latest
  const text = `mirrored ${counted(records, 'record')}, ${size(bytes)}, into the stream ${target.stream}${deleted > 0 ? `; deleted ${count(deleted)} there` : ''}`
  printResult({ json, quiet }, file, text, { file, stream: target.stream, records, bytes, deleted })
}

/**
 * @param {string} file
 * @param {import('../..').StreamTarget} target
 * @param {import('../..').MirrorOptions} options
 * @param {(progress: MirrorProgress) => void} onProgress
 */
async function mirrorFile (file, target, options, onProgress) {
  const sum = { records: 0, bytes: 0, deleted: 0 }
  for (;;) {
    const log = await openToRead(file)
    const { ...before } = sum
    /** @param {import('../..').Mirrored} done */
    const add = (done) => {
      for (const name of /** @type {const} */ (['records', 'bytes', 'deleted'])) sum[name] = before[name] + done[name]
    }
    try {
      add(await mirror(log, target, {
        ...options,
        onProgress: (progress) => {
          add(progress)
          onProgress({ ...progress, ...sum })
        }
      }))
      return onProgress({ ...sum, lag: 0, total: 1, isConnected: true })
    } catch (err) {
      // it was compacted twice while this process was held up, or restored: its cursor tells
      if (codeOf(err) !== 'flumelog:replaced' || /** @type {any} */ (err).filename !== log.filename) throw err
    } finally {
      await close(log).catch(() => {})
    }
  }
}

module.exports = { define }
