'use strict'

// The durable consumer of a cursor: its settings, and those that a stream has.

const { format, optionNames } = require('flumelog-random-access-file/blocks')
const errors = require('../errors')

/** Code of the server: there is no such consumer. */
const NO_CONSUMER = 10014
/** Nanoseconds per millisecond. */
const NANOSECONDS = 1e6
const DEFAULTS = { commitWithin: 30_000, inFlight: 1000 }
const LEAST = { commitWithin: 1000, inFlight: 1 }
/** As names of a log's cursors. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/

const checkNames = optionNames('cursor', ['commitWithin', 'inFlight'])

/**
 * @typedef {object} CursorOptions
 * @property {number} [commitWithin] milliseconds, 1000 or more, until a record that was given and not committed is given again; default 30000
 * @property {number} [inFlight] records that may be given and not committed, in all processes together; default 1000
 *
 * @typedef {import('@nats-io/jetstream').ConsumerInfo} ConsumerInfo
 */

/**
 * @param {unknown} name
 * @param {any} options
 * @throws flumelog:invalid
 */
function checkCursor (name, options) {
  if (typeof name !== 'string' || !NAME.test(name)) throw errors.invalid(`the name of a cursor must be 1 to 64 letters (A to Z, a to z), digits, - or _; it is ${format(name)}`)
  checkNames(options)
  for (const [key, least] of Object.entries(LEAST)) {
    const value = options[key]
    if (value !== undefined && !(Number.isInteger(value) && value >= least && value <= 2 ** 31 - 1)) throw errors.invalid(`${key} must be an integer from ${least} to ${2 ** 31 - 1}; it is ${format(value)}`)
  }
}

/**
 * @param {import('../connection/connection').Connection} connection that is open
 * @param {string} name
 * @param {CursorOptions} options
 * @returns {Promise<ConsumerInfo>} of the consumer, which is created if there is none, and has the given options
 */
async function openConsumer (connection, name, options) {
  const { settings: { stream }, manager, label } = connection
  const { commitWithin, inFlight } = { ...DEFAULTS, ...options }
  for (;;) {
    const info = await connection.ask(() => manager.consumers.info(stream, name).catch((err) => {
      if (err?.code === NO_CONSUMER || err?.cause?.code === NO_CONSUMER) return null
      throw err
    }))
    if (info !== null) {
      const { config } = info
      if (config.ack_policy !== 'explicit' || config.deliver_subject !== undefined) {
        throw errors.unsuitableStream(label, `the consumer ${name} is none of a cursor, which needs a pull consumer with explicit acknowledgement`)
      }
      const isSame = (options.commitWithin === undefined || config.ack_wait === commitWithin * NANOSECONDS) && (options.inFlight === undefined || config.max_ack_pending === inFlight)
      if (isSame) return info
      await connection.ask(() => manager.consumers.update(stream, name, { ...config, ack_wait: commitWithin * NANOSECONDS, max_ack_pending: inFlight }))
      continue
    }
    await connection.ask(() => manager.consumers.add(stream, {
      durable_name: name,
      ack_policy: 'explicit',
      deliver_policy: 'all',
      ack_wait: commitWithin * NANOSECONDS,
      max_ack_pending: inFlight,
      max_deliver: -1
    })).catch((err) => {
      // another process may have created it meanwhile, with other settings
      if (err.code !== 'flumelog:server' || err.cause?.code !== EXISTS) throw err
    })
  }
}

/** Code of the server: there is a consumer of this name with other settings. */
const EXISTS = 10148

/**
 * @param {import('../connection/connection').Connection} connection that is open
 * @returns {Promise<Array<{ name: string, seq: number, held: boolean }>>} the cursors of the stream
 */
async function listCursors (connection) {
  const { settings: { stream }, manager } = connection
  const infos = await connection.ask(async () => {
    /** @type {ConsumerInfo[]} */
    const all = []
    for await (const info of manager.consumers.list(stream)) all.push(info)
    return all
  })
  return infos
    .filter(({ config }) => config.durable_name !== undefined && config.ack_policy === 'explicit' && NAME.test(config.durable_name))
    .map(({ name, ack_floor: { stream_seq: seq }, num_waiting: waiting, num_ack_pending: given }) => ({ name, seq: seq === 0 ? -1 : seq, held: waiting > 0 || given > 0 }))
    .sort((a, b) => a.name < b.name ? -1 : 1)
}

module.exports = { checkCursor, openConsumer, listCursors }
