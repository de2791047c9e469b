'use strict'

// Copies of streams: pulls, and compares them with their stream.

const { connect } = require('@nats-io/transport-node')
const JetStreamLog = require('../..')
const FlumeLog = require('flumelog-random-access-file')
const { openLog } = require('./jetstream')
const { promises } = require('../../../../test/helpers/promises')

/**
 * @param {any} log
 * @param {object} [range]
 * @returns {Promise<string[]>} its records, byte by byte
 */
function recordsOf (log, range = {}) {
  const records = []
  return new Promise((resolve, reject) => log.scan(range, (block, start, end) => { records.push(block.toString('latin1', start, end)) }, (err) => err ? reject(err) : resolve(records)))
}

/**
 * Pulls until the copy equals the stream.
 * @param {{ url: string }} server
 * @param {string} stream
 * @param {string} file
 * @param {{ timeout?: number }} [options] of the log, and how long a server is waited for
 * @returns {Promise<any>} what `pull` gave
 */
async function pullOnce (server, stream, file, { timeout, ...options } = {}) {
  const copy = promises(FlumeLog(file, options))
  try {
    return await JetStreamLog.pull({ servers: server.url, stream, timeout }, copy.log, { live: false })
  } finally {
    await copy.close()
  }
}

/** @returns {Promise<string[]>} the records of a log in a file */
async function recordsIn (file, options) {
  const log = promises(FlumeLog(file, { readOnly: true, ...options }))
  try {
    return await recordsOf(log.log)
  } finally {
    await log.close()
  }
}

/** @returns {Promise<string[]>} the records of a stream */
async function recordsOn (server, stream) {
  const log = openLog(server, { stream })
  try {
    return await recordsOf(log.log)
  } finally {
    await log.close()
  }
}

/**
 * @param {import('tape').Test} t
 * @param {{ url: string }} server
 * @param {string} stream
 * @param {string} file
 * @param {string} what
 */
async function isCopy (t, server, stream, file, what, options) {
  const [expected, found] = [await recordsOn(server, stream), await recordsIn(file, options)]
  const first = expected.findIndex((record, i) => record !== found[i])
  t.deepEqual({ records: found.length, first }, { records: expected.length, first: -1 }, what)
}

/** A live pull. */
class Pulling {
  /** @param {{ url: string, timeout?: number }} server */
  constructor (server, stream, file, options, more = {}) {
    const log = promises(FlumeLog(file, options))
    this.log = log.log
    this.append = log.append
    this.close = log.close
    this.progress = { records: 0, deleted: 0, seq: 0, lag: 0 }
    this.onProgress = () => {}
    this.abort = new AbortController()
    this.reason = ''
    /** The code of its error, or the reason. */
    this.ended = JetStreamLog.pull({ servers: server.url, stream, timeout: server.timeout }, log.log, {
      ...more,
      signal: this.abort.signal,
      onProgress: (progress) => {
        this.progress = progress
        this.onProgress()
      }
    }).then(() => 'no error', (err) => {
      this.reason = err.message
      return err.code ?? err
    })
  }

  /** @param {(progress: any) => boolean} isThere */
  async until (isThere) {
    const failed = this.ended.then((end) => { throw new Error(`the pull has ended: ${end} ${this.reason}`) })
    failed.catch(() => {})
    while (!isThere(this.progress)) await Promise.race([failed, new Promise(resolve => { this.onProgress = resolve })])
  }

  async stop () {
    this.abort.abort('stopped')
    const end = await this.ended
    await this.close()
    return end
  }
}

/**
 * @param {{ url: string }} server
 * @param {string} api what is asked for
 * @param {object} [body]
 * @param {string} [subject] instead: an empty message is published there
 */
async function request (server, api, body, subject) {
  const nats = await connect({ servers: server.url })
  try {
    return await nats.request(subject ?? `$JS.API.${api}`, body === undefined ? '' : JSON.stringify(body))
  } finally {
    await nats.close()
  }
}

module.exports = { Pulling, request, pullOnce, recordsOf, recordsIn, recordsOn, isCopy }
