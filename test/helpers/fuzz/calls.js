'use strict'

// The callbacks that a fuzzed log owes: each is to come exactly once, and some of them
// throw, or call the log again.

/** What a callback throws on purpose. */
class Thrown extends Error {
  /** @param {Call} call whose callback it is */
  constructor (call) {
    super(`thrown by the callback of ${call.name}`)
    this.call = call
  }
}

/** @typedef {{ name: string, count: number, madeAt: number, done: Promise<void>, settle: () => void }} Call */

class Calls {
  /**
   * @param {object} options
   * @param {ReturnType<import('../random').randomFrom>} options.random
   * @param {(line: string) => void} options.note
   * @param {(message: string) => void} options.violate
   * @param {number} options.throwing the share of callbacks that throw
   * @param {number} options.nesting the share of callbacks that call the log
   */
  constructor ({ random, note, violate, throwing, nesting }) {
    this.random = random
    this.note = note
    this.violate = violate
    this.throwing = throwing
    this.nesting = nesting
    this.made = 0
    /** Counts calls and callbacks, so that of any two it is known which came first. */
    this.moment = 0
    /** Those that were not called back. @type {Set<Call>} */
    this.pending = new Set()
    /** What was thrown and has not come out anywhere. @type {Set<Thrown>} */
    this.thrown = new Set()
    /** Called within a callback. */
    this.nest = () => {}
    this.depth = 0
    this.isOver = false
  }

  /**
   * @param {string} what
   * @returns {Call}
   */
  start (what) {
    const call = { name: `#${++this.made} ${what}`, count: 0, madeAt: ++this.moment, done: null, settle: null }
    call.done = new Promise(resolve => { call.settle = resolve })
    this.note(call.name)
    this.pending.add(call)
    return call
  }

  /**
   * @param {Call} call
   * @param {(...results: any[]) => void} check is given what the callback is given
   * @returns {(...results: any[]) => void} the callback, for the log
   */
  callback (call, check) {
    return (...results) => {
      if (this.isOver) return
      this.moment++
      this.note(`    ${call.name} -> ${results.map(summary).join(' ')}`)
      if (++call.count > 1) this.violate(`${call.name} was called back ${call.count} times`)
      this.pending.delete(call)
      call.settle()
      check(...results)
      this.misbehave(call)
    }
  }

  /** @param {Call} call whose callback this is */
  misbehave (call) {
    if (this.depth < 3 && this.random() < this.nesting) {
      this.depth++
      try {
        this.nest()
      } finally {
        this.depth--
      }
    }
    if (this.random() < this.throwing) {
      const err = new Thrown(call)
      this.thrown.add(err)
      this.note(`    ${call.name} throws`)
      throw err
    }
  }

  /**
   * Makes a call of the log, out of which only its own callback's exception may come.
   * @param {Call} call
   * @param {() => void} run
   */
  make (call, run) {
    try {
      run()
    } catch (err) {
      if (!(err instanceof Thrown)) return this.violate(`${call.name} threw ${err.stack}`)
      this.caught(err)
      if (err.call !== call) this.violate(`${err.message}, it came out of ${call.name}`)
    }
  }

  /** @param {unknown} err that came out somewhere */
  caught (err) {
    if (!this.thrown.delete(/** @type {Thrown} */ (err))) this.violate(`an exception that nobody threw on purpose, or twice: ${err?.stack ?? err}`)
  }

  /** At the end. */
  checkThrown () {
    for (const { message } of this.thrown) this.violate(`swallowed: ${message}`)
  }
}

/** @param {any} result */
function summary (result) {
  if (result instanceof Error) return result.code ?? result.message
  if (result === null || typeof result !== 'object') return String(result)
  if (Array.isArray(result)) return `[${result.length}]`
  return Buffer.isBuffer(result) ? `<${result.length} bytes>` : JSON.stringify(result).slice(0, 60)
}

module.exports = { Calls, Thrown }
