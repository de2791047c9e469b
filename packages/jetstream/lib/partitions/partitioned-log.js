'use strict'

// A log that several streams share, so that each can have another leader: one log for each of them, and what callers have in common for all.
// Which stream a record belongs to says its key, so records with the same key are in order; others are in no order.

const { callbacks: { mustBeFunction, optional }, optionNames } = require('flumelog-random-access-file/blocks')
const { observable, streamRangeOf } = require('flumelog-random-access-file/parts')
const errors = require('../errors')
const { failed, merge } = require('../read/merge')
const { missingMembers } = require('../missing-members')
const { Partitions } = require('./partitions')
const { createStreamLog } = require('../stream-log')
const { givenOptions } = require('../write/append-options')
const { Unreported } = require('../write/unreported')

/** What has no meaning in several streams at once: each of them has it. */
const MISSING = ['getPrevious', 'scan', 'search', 'sink', 'trim', 'compact', 'backup']

const checkStreamNames = optionNames('stream', ['gt', 'lte', 'live', 'old', 'limit', 'seqs', 'values'])
const checkBatchNames = optionNames('batches', ['gt', 'lte', 'live', 'old', 'seqs', 'values'])

/** @typedef {import('flumelog-random-access-file/parts').Done} Done */

class PartitionedLog {
  /** @param {import('../options').Settings} settings */
  constructor (settings) {
    const { stream, subject, partitions = 1, key } = settings
    this.label = `stream ${stream}`
    /** Of appends without a callback. */
    this.unreported = new Unreported()
    this.partitions = new Partitions(partitions, /** @type {(value: any) => string} */ (key))
    /** @type {Promise<void> | undefined} */
    let waitFor
    // the first one is there before the others: it decides between programs that create the log with different numbers of partitions
    this.logs = Array.from({ length: partitions }, (_, i) => {
      const log = createStreamLog({ ...settings, stream: `${stream}-${i}`, subject: `${subject}-${i}`, partition: `${i} of ${partitions}`, waitFor })
      if (i === 0) {
        waitFor = new Promise((resolve, reject) => log.onReady((/** @type {Error | null} */ err) => err ? reject(err) : resolve()))
        waitFor.catch(noop)
      }
      return log
    })
    /** @type {import('flumelog-random-access-file/parts').Since & any} */
    this.since = observable()
    this.all(log => log.onReady, err => { if (err === null) this.follow() })
  }

  /** Sets `since` whenever one of the logs has another end. */
  follow () {
    const position = this.logs.map(({ since }, i) => this.partitions.seqOf(since.value, i))
    this.since.set([...position])
    this.logs.forEach(({ since }, i) => since((/** @type {number} */ last) => {
      position[i] = this.partitions.seqOf(last, i)
      this.since.set([...position])
    }, false))
  }

  /**
   * @param {(log: any) => (cb: (err: Error | null, result?: any) => void) => void} memberOf of each log, which is called
   * @param {(err: Error | null, results: any[]) => void} cb called when all have called back, with the first error
   */
  all (memberOf, cb) {
    callEach(this.logs.map(log => memberOf(log)), cb)
  }

  // Appending

  /**
   * @param {any} value
   * @param {any} options
   * @param {any} [callback]
   */
  append (value, options, callback) {
    const isCallback = typeof options === 'function'
    const cb = optional(isCallback ? options : callback) ?? this.unreported.note
    /** @type {{ partition: number, values: any[] }[]} */
    let parts
    let given, after
    try {
      given = givenOptions(isCallback ? undefined : options)
      parts = this.divide(Array.isArray(value) ? value : [value])
      if (parts.length > 1 && (given.atomic || given.after !== undefined)) throw errors.invalid('the records of an atomic append, or of one with after, must belong to one partition')
      after = this.conditionOf(given.after, parts[0].partition)
    } catch (err) {
      return process.nextTick(cb, errors.thrown('the option key', err))
    }
    const appends = parts.map(({ partition, values }) => (/** @type {(err: any, result?: any) => void} */ done) => {
      this.logs[partition].append(Array.isArray(value) ? values : value, { ...given, after }, (/** @type {any} */ err, /** @type {any} */ result) => {
        if (err) return done(err.code === 'flumelog:conflict' ? errors.conflict(this.label, given.after, this.partitions.seqOf(err.seq, partition)) : err)
        const seqOf = (/** @type {number} */ sequence) => this.partitions.seqOf(sequence, partition)
        done(null, Array.isArray(result) ? result.map(seqOf) : seqOf(result))
      })
    })
    // in order, the part with the last record is the last one
    callEach(appends, (err, results) => err ? cb(err) : cb(null, results.at(-1)))
  }

  /**
   * @param {any[]} values
   * @returns {{ partition: number, values: any[] }[]} those of each partition, at least one; that of the last value is the last
   * @throws flumelog:invalid
   */
  divide (values) {
    /** @type {Map<number, any[]>} */
    const parts = new Map()
    let last = 0
    for (const value of values) {
      last = this.partitions.of(value)
      const part = parts.get(last)
      if (part === undefined) parts.set(last, [value])
      else part.push(value)
    }
    const ending = parts.get(last) ?? []
    parts.delete(last)
    parts.set(last, ending)
    return [...parts].map(([partition, values]) => ({ partition, values }))
  }

  /**
   * @param {any} after a seq, a position, or what is neither
   * @param {number} partition
   * @returns {number | undefined} the sequence that the last record of the partition must have
   */
  conditionOf (after, partition) {
    if (Array.isArray(after)) return this.partitions.sequences('after', after)[partition]
    if (after === undefined || after === -1) return after
    const found = this.partitions.find(after)
    if (found.partition !== partition) throw errors.invalid(`after must be the seq of a record of the same partition, ${partition}; ${after} is one of ${found.partition}`)
    return found.sequence
  }

  /** @param {any} what @param {Done} [callback] */
  del (what, callback) {
    const cb = optional(callback) ?? noop
    /** @type {Map<number, number[]>} */
    const parts = new Map()
    try {
      for (const seq of [what].flat()) {
        const { partition, sequence } = this.partitions.find(seq)
        const part = parts.get(partition)
        if (part === undefined) parts.set(partition, [sequence])
        else part.push(sequence)
      }
    } catch (err) {
      return process.nextTick(cb, err)
    }
    callEach([...parts].map(([partition, sequences]) => (/** @type {Done} */ done) => this.logs[partition].del(sequences, done)), (err) => cb(err))
  }

  // Reading

  /**
   * @param {number} seq
   * @param {(err: any, value?: any) => void} cb
   */
  get (seq, cb) {
    mustBeFunction('the callback', cb)
    let found
    try {
      found = this.partitions.find(seq)
    } catch (err) {
      return process.nextTick(cb, err)
    }
    this.logs[found.partition].get(found.sequence, cb)
  }

  /**
   * @param {any} options
   * @param {boolean} isBatched
   * @returns {import('../read/merge').Source<any>}
   */
  source (options, isBatched) {
    const { partitions } = this
    const { gt, lte, limit = 0, ...more } = options
    let from, to
    try {
      if (isBatched) checkBatchNames(options)
      else checkStreamNames(options)
      // each stream has it as a whole
      streamRangeOf({ limit }, 0)
      from = gt === undefined ? undefined : partitions.sequences('gt', gt)
      to = lte === undefined ? undefined : partitions.sequences('lte', lte)
    } catch (err) {
      return failed(err)
    }
    const sources = this.logs.map((log, i) => {
      const part = { ...more, gt: from?.[i], lte: to?.[i] }
      return placed(isBatched ? log.batches(part) : log.stream(part), this.placer(options, i), isBatched)
    })
    return merge(sources, limit > 0 ? limit : Infinity)
  }

  /**
   * @param {{ seqs?: boolean, values?: boolean }} options of a stream
   * @param {number} partition
   * @returns {(item: any) => any} gives the item of a stream of that partition the seq that it has here
   */
  placer ({ seqs = true, values = true }, partition) {
    const { partitions } = this
    if (!values) return sequence => partitions.seqOf(sequence, partition)
    return seqs ? ({ seq, value }) => ({ seq: partitions.seqOf(seq, partition), value }) : value => value
  }

  // Cursors

  /**
   * @param {string} name
   * @param {any} [options]
   * @throws flumelog:invalid
   */
  cursor (name, options = {}) {
    const { partitions } = this
    const cursors = this.logs.map(log => log.cursor(name, options))
    const position = () => cursors.map(({ seq }, i) => partitions.seqOf(seq, i))
    const source = (/** @type {any} */ options, /** @type {'stream' | 'batches'} */ member) => {
      const { limit = 0, ...more } = options ?? {}
      try {
        streamRangeOf({ limit }, 0)
      } catch (err) {
        return failed(err)
      }
      if (member === 'batches' && limit > 0) return failed(errors.invalid('batches of a log with partitions takes no limit'))
      return merge(cursors.map((cursor, i) => placed(cursor[member](more), this.placer(more, i), member === 'batches')), limit > 0 ? limit : Infinity)
    }
    return {
      name,
      get seq () { return cursors.some(({ seq }) => seq === undefined) ? undefined : position() },
      stream: (/** @type {any} */ options) => source(options, 'stream'),
      batches: (/** @type {any} */ options) => source(options, 'batches'),
      commit (/** @type {any} */ seq, /** @type {any} */ options, /** @type {any} */ callback = undefined) {
        const cb = optional(typeof options === 'function' ? options : callback) ?? noop
        let found
        try {
          found = partitions.find(seq)
        } catch (err) {
          return process.nextTick(cb, err)
        }
        cursors[found.partition].commit(found.sequence, typeof options === 'function' ? {} : options ?? {}, cb)
      },
      onReady (/** @type {any} */ cb) {
        mustBeFunction('the callback', cb)
        callEach(cursors.map(({ onReady }) => onReady), (err) => err ? cb(err) : cb(null, position()))
      },
      close: (/** @type {any} */ cb) => callEach(cursors.map(({ close }) => close), optional(cb) ?? noop)
    }
  }

  /** @param {(err: any, cursors?: any) => void} cb */
  listCursors (cb) {
    mustBeFunction('the callback', cb)
    this.all(log => log.cursors, (err, lists) => {
      if (err) return cb(err)
      const names = new Set(lists.flat().map(({ name }) => name))
      cb(null, [...names].sort().map((name) => {
        const found = lists.map(list => list.find((/** @type {any} */ cursor) => cursor.name === name))
        return { name, seq: found.map((cursor, i) => this.partitions.seqOf(cursor?.seq ?? -1, i)), held: found.some(cursor => cursor?.held) }
      }))
    })
  }
}

/**
 * @param {import('../read/merge').Source<any>} source
 * @param {(item: any) => any} place
 * @param {boolean} isBatched
 * @returns {import('../read/merge').Source<any>} with the items that `place` makes of its own
 */
function placed (source, place, isBatched) {
  return Object.assign((/** @type {any} */ abort, /** @type {(end: any, item?: any) => void} */ cb) => {
    source(abort, (end, item) => end ? cb(end) : cb(null, isBatched ? item.map(place) : place(item)))
  }, { unread: source.unread })
}

/**
 * @param {Array<(cb: (err: any, result?: any) => void) => void>} calls
 * @param {(err: any, results: any[]) => void} cb called when all have called back, with the first error
 */
function callEach (calls, cb) {
  const results = new Array(calls.length)
  /** @type {any} */
  let failure = null
  let left = calls.length
  if (left === 0) return process.nextTick(cb, null, results)
  calls.forEach((call, i) => call((err, result) => {
    failure ??= err
    results[i] = result
    if (--left === 0) cb(failure, results)
  }))
}

function noop () {}

/**
 * @param {import('../options').Settings} settings
 * @returns {any} the members that callers have
 */
function createPartitionedLog (settings) {
  const log = new PartitionedLog(settings)
  const each = (/** @type {string} */ name) => (/** @type {Done} */ callback) => {
    const cb = optional(callback)
    log.all(log => log[name], (err) => cb?.(err ?? log.unreported.take()))
  }
  return {
    filename: null,
    codec: settings.codec,
    /** The log of each stream, for what is not available over all of them. */
    partitions: log.logs,
    /** @param {any} value @returns {number} */
    partitionOf: (/** @type {any} */ value) => log.partitions.of(value),
    since: log.since,
    append: (/** @type {any} */ value, /** @type {any} */ options, /** @type {any} */ cb = undefined) => log.append(value, options, cb),
    get: (/** @type {any} */ seq, /** @type {any} */ cb) => log.get(seq, cb),
    stream: (/** @type {any} */ options) => log.source(options ?? {}, false),
    batches: (/** @type {any} */ options) => log.source(options ?? {}, true),
    del: (/** @type {any} */ what, /** @type {any} */ cb) => log.del(what, cb),
    cursor: (/** @type {any} */ name, /** @type {any} */ options) => log.cursor(name, options),
    cursors: (/** @type {any} */ cb) => log.listCursors(cb),
    onReady: (/** @type {any} */ cb) => {
      mustBeFunction('the callback', cb)
      log.all(log => log.onReady, (err) => cb(err, null))
    },
    onDrain: each('onDrain'),
    sync: each('sync'),
    close: each('close'),
    stats: () => log.logs.map(log => log.stats()),
    ...missingMembers(MISSING, name => errors.notOfPartitions(log.label, name))
  }
}

module.exports = { createPartitionedLog, PartitionedLog }
