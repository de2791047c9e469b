'use strict'

// What a caller gets: the members of async-append-only-log, which it may replace, on the store of that file.

const { format } = require('../format-value')
const errors = require('../errors')
const { optional } = require('../callbacks')
const { storeFor } = require('./stores')
const { Stream } = require('./stream')

/** Milliseconds. */
const WRITE_TIMEOUT = 250
const IDENTITY = { encode: (/** @type {any} */ value) => value, decode: (/** @type {any} */ data) => data }

/**
 * @param {string} filename
 * @param {import('./types').Options<any>} options
 * @returns {import('./types').Log<any>}
 */
function openInstance (filename, options) {
  const { codec = IDENTITY, writeTimeout } = options
  if (typeof filename !== 'string' || filename === '') throw errors.invalid(`the first argument must be the path of a file; it is ${format(filename)}`)
  if (typeof codec.encode !== 'function' || typeof codec.decode !== 'function') throw errors.invalid('codec must be an object with the functions encode and decode')
  const timeout = writeTimeout || WRITE_TIMEOUT
  const store = storeFor(filename, options)
  /** @type {Set<any>} */
  const streams = new Set()
  store.instances.add(streams)
  let isClosed = false

  const encoded = (/** @type {any} */ value) => store.checked(codec.encode(value))
  const decode = codec === IDENTITY ? null : codec.decode

  /** @type {import('./types').Log<any>} */
  const members = {
    filename,
    blockSize: store.blockSize,
    since: /** @type {any} */ (store.progress.since),
    compactionProgress: /** @type {any} */ (store.compaction.progress),
    streams,
    get: (offset, cb) => store.whenOpen(cb, () => store.get(offset, (err, data) => {
      if (err) cb(err, undefined)
      else cb(null, decode === null ? data : decode(data))
    })),
    append: (value, cb) => store.whenAppendable(cb, () => {
      let offset = 0
      if (Array.isArray(value)) for (const data of value) offset = store.append(encoded(data), timeout)
      else offset = store.append(encoded(value), timeout)
      cb(null, offset)
    }),
    appendTransaction: (values, cb) => store.whenAppendable(cb, () => {
      if (!Array.isArray(values)) return cb(errors.aaolNoArray(), [])
      const batch = values.map(value => Buffer.from(encoded(value)))
      const problem = store.problemTogether(batch)
      if (problem !== null) cb(problem, [])
      else cb(null, store.appendTransaction(batch, timeout))
    }),
    del: (offset, cb) => store.whenOpen(cb, () => store.del(offset, optional(cb) ?? noop)),
    onDrain: (cb) => store.whenOpen(cb, () => store.onDrain(cb)),
    onDeletesFlushed: (cb) => store.whenOpen(cb, () => store.deletions.whenFlushed(cb)),
    compact: (cb) => store.whenOpen(cb, () => store.compaction.compact(optional(cb) ?? noop)),
    stats: (cb) => store.whenOpen(/** @type {any} */ (cb), () => store.stats(cb)),
    stream: (options) => {
      const stream = new Stream(store, streams, options ?? {}, decode)
      streams.add(stream)
      return stream
    },
    close: (callback) => {
      const cb = optional(callback) ?? noop
      if (isClosed) return process.nextTick(cb, null)
      isClosed = true
      store.release(streams, cb)
    }
  }
  return members
}

function noop () {}

module.exports = { openInstance }
