'use strict'

// The flumelogs that are compared, behind a common interface. It uses the wrapper that comes
// with a log, and waits for its writes where that is necessary; records are JSON objects
// everywhere.

const codec = require('flumecodec').json
const pull = require('pull-stream')

const BLOCK_SIZE = 1024

/**
 * @typedef {object} Kind
 * @property {string} name the package's
 * @property {(file: any) => any} open as its README says, ready for flumedb if it can be
 * @property {(file: any) => any} [bare] the same without a wrapper, where it needs one
 * @property {(log: any, cb: () => void) => void} [settle] all that was appended or deleted is in the file
 * @property {(file: any) => any} [large] open for records that are larger than a block, if that is an option
 */

/** @type {Kind[]} */
const KINDS = [
  {
    name: 'flumelog-random-access-file',
    open: (file) => require('../../..')(file, { codec, blockSize: BLOCK_SIZE }),
    large: (file) => require('../../..')(file, { codec, blockSize: BLOCK_SIZE, large: true })
  },
  {
    name: 'flumelog-offset',
    open: (file) => require('flumelog-offset')(file, { codec, blockSize: BLOCK_SIZE })
  },
  {
    name: 'flumelog-aligned-offset',
    open: (file) => require('flumelog-aligned-offset/compat')(require('flumelog-aligned-offset')(file, { codec, block: BLOCK_SIZE })),
    bare: (file) => require('flumelog-aligned-offset')(file, { codec, block: BLOCK_SIZE }),
    settle: whenDrained
  },
  {
    name: 'async-append-only-log',
    open: (file) => require('async-append-only-log/compat')(asyncLog(file)),
    bare: asyncLog,
    settle: (log, cb) => whenDrained(log, () => log.onDeletesFlushed(cb))
  },
  {
    name: 'flumelog-memory',
    open: (file) => require('flumelog-memory')(file)
  }
]

function asyncLog (file) {
  return require('async-append-only-log')(file, { codec, blockSize: BLOCK_SIZE, writeTimeout: 20 })
}

/** `onDrain` may call back before everything is written, except if it does so synchronously. */
function whenDrained (log, cb) {
  let atOnce = true
  log.onDrain(() => atOnce ? cb() : whenDrained(log, cb))
  atOnce = false
}

class Flumelog {
  /** @param {Kind} kind */
  constructor (kind) {
    this.kind = kind
  }

  get name () {
    return this.kind.name
  }

  open (file) {
    return this.kind.open(file)
  }

  /** @returns {Promise<number>} the seq, when the log says that it is done */
  append (log, value) {
    return call(cb => log.append(value, cb))
  }

  /** Resolves when everything is in the file. */
  settle (log) {
    return new Promise(resolve => this.kind.settle ? this.kind.settle(log, resolve) : resolve())
  }

  async store (log, values) {
    await this.append(log, values)
    await this.settle(log)
  }

  get (log, seq) {
    return call(cb => log.get(seq, cb))
  }

  /** @returns {Promise<Array<{ seq: number, value: any }>>} */
  async read (log, options = {}) {
    const items = await new Promise((resolve, reject) => {
      pull(log.stream(options), pull.collect((err, items) => err ? reject(err) : resolve(items)))
    })
    return items.map(({ seq, offset, value }) => ({ seq: seq ?? offset, value }))
  }

  async del (log, seq) {
    await call(cb => log.del(seq, cb))
    await this.settle(log)
  }

  /** Closes the log, as far as it can be closed. */
  async close (log) {
    await this.settle(log)
    if (log.close) await call(cb => log.close(cb))
  }
}

/**
 * Makes a call with a callback. Exceptions are marked as such.
 * @param {(cb: (err: any, value?: any) => void) => void} work
 */
function call (work) {
  return new Promise((resolve, reject) => {
    try {
      work((err, value) => err ? reject(err) : resolve(value))
    } catch (err) {
      reject(Object.assign(err, { isThrown: true }))
    }
  })
}

module.exports = { KINDS, Flumelog, call }
