'use strict'

// The streams of a log that are open. An append visits only those that wait at the end.
// All others are held weakly: a stream that its reader has dropped costs an append
// nothing, and is collected like any other object.

const { callAll } = require('../callbacks')

/**
 * @typedef {import('./stream').Stream} Stream
 * @typedef {Pick<Stream, 'resume' | 'close' | 'finish'> & Partial<Pick<Stream, 'move' | 'context'>>} Waiting a stream, or what waits as streams do
 */

class OpenStreams {
  /**
   * @param {(isWaiting: boolean) => void} [onwaiting] called when the first stream waits at the end, and when the
   *   last one stops
   */
  constructor (onwaiting = () => {}) {
    this.onwaiting = onwaiting
    /** @type {Set<WeakRef<Stream>>} */
    const references = new Set()
    this.references = references
    this.collected = new FinalizationRegistry((/** @type {WeakRef<Stream>} */ reference) => references.delete(reference))
    /** @type {WeakMap<Stream, WeakRef<Stream>>} */
    this.referenceOf = new WeakMap()
    /** Each has a read to answer as soon as there is another record. @type {Set<Waiting>} */
    this.waiting = new Set()
  }

  /** The number of streams that are open; one that was dropped counts until it is collected. */
  get size () {
    return this.references.size
  }

  /** @param {Stream} stream that is open, or knows already where in the log it will start */
  add (stream) {
    if (this.referenceOf.has(stream)) return
    const reference = new WeakRef(stream)
    this.referenceOf.set(stream, reference)
    this.references.add(reference)
    this.collected.register(stream, reference)
  }

  /** @param {Stream} stream that has ended */
  delete (stream) {
    this.stopWaiting(stream)
    const reference = this.referenceOf.get(stream)
    if (reference !== undefined) this.references.delete(reference)
    this.referenceOf.delete(stream)
  }

  /** @param {Waiting} stream whose reader waits for the next record that is appended */
  wait (stream) {
    this.waiting.add(stream)
    if (this.waiting.size === 1) this.onwaiting(true)
  }

  /** @param {Waiting} stream */
  stopWaiting (stream) {
    if (this.waiting.delete(stream) && this.waiting.size === 0) this.onwaiting(false)
  }

  /** Records were appended. */
  resumeWaiting () {
    callAll([...this.waiting].map(stream => stream.resume), undefined)
  }

  /**
   * The log is closing, or a cursor.
   * @param {object} [owner] the cursor
   */
  close (owner) {
    callAll(this.all().filter(({ context }) => owner === undefined || context?.owner === owner).map(stream => () => stream.close()), undefined)
  }

  /** @param {Error} err why the log can no longer be read */
  fail (err) {
    callAll(this.all().map(stream => () => stream.finish(err)), undefined)
  }

  /**
   * The log is another file now.
   * @param {import('../space/offset-map').OffsetMap} map
   */
  move (map) {
    for (const stream of this.all()) stream.move?.(map)
  }

  /** @returns {Waiting[]} streams, but for those of cursors, and what waits for `since` */
  withoutCursor () {
    return this.all().filter(({ context }) => context !== undefined && context.owner === undefined)
  }

  /** @returns {Waiting[]} */
  all () {
    const open = [...this.references].map(reference => reference.deref()).filter(stream => stream !== undefined)
    return [...new Set([...open, ...this.waiting])]
  }
}

module.exports = { OpenStreams }
