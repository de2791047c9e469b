'use strict'

// Regular expressions of filters. JavaScript's can take time that grows exponentially with the text, so a text for
// which that is possible is searched with a time limit.

const vm = require('vm')
const errors = require('../errors')
const { shorten } = require('../format-value')

/** Milliseconds for one text. */
const TIME_LIMIT = 100
/** Microseconds of processor time after which a search that has reached the limit has taken too long: otherwise, something else ran, or this process was stopped. */
const LEAST_TIME = TIME_LIMIT * 1000 / 2
/** Steps, some milliseconds of them, up to which no limit is needed; setting it costs 80 µs. */
const MAX_STEPS = 1e6
/** Elements of the search tree's width: quantifiers and alternatives. */
const CHOICES = /[*+?{|]/g
/** A group that is repeated, a reference, or a lookaround: steps are not bounded by the number of choices. */
const UNBOUNDED = /\)[*+?{]|\\[1-9k]|\(\?<?[=!]/

class Pattern {
  /**
   * @param {string} source
   * @param {string} flags
   * @throws flumelog:invalid
   */
  constructor (source, flags) {
    this.source = source
    try {
      this.expression = new RegExp(source, `${flags}u`)
    } catch (err) {
      throw errors.invalid(`/${shorten(source)}/ is no regular expression: ${/** @type {Error} */ (err).message.replace(/^.*: /, '')}`)
    }
    this.choices = UNBOUNDED.test(source) ? Infinity : source.match(CHOICES)?.length ?? 0
    /** @type {{ expression: RegExp, text: string, script: vm.Script } | null} */
    this.limited = null
  }

  /**
   * @param {string} text
   * @returns {{ index: number, length: number } | null} the first match
   * @throws flumelog:invalid if it takes too long
   */
  find (text) {
    const isBounded = this.choices === 0 || text.length ** (this.choices + 1) <= MAX_STEPS
    const found = isBounded ? this.expression.exec(text) : this.findLimited(text)
    return found === null ? null : { index: found.index, length: found[0].length }
  }

  /**
   * @param {string} text
   * @returns {RegExpExecArray | null}
   */
  findLimited (text) {
    // its engine does not look at the clock within a regular expression
    if (process.versions.bun !== undefined) throw errors.invalid(`/${shorten(this.source)}/ can take long, and Bun cannot limit that: make the pattern simpler, without a repeated group, or use Node.js`)
    this.limited ??= /** @type {any} */ (vm.createContext({ expression: this.expression, text: '', script: new vm.Script('expression.exec(text)') }))
    const limited = /** @type {NonNullable<typeof this.limited>} */ (this.limited)
    limited.text = text
    try {
      for (let timeout = TIME_LIMIT; ; timeout *= 2) {
        const before = process.cpuUsage()
        try {
          return limited.script.runInContext(limited, { timeout })
        } catch (err) {
          if (/** @type {{ code?: string }} */ (err).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw err
        }
        const { user, system } = process.cpuUsage(before)
        if (user + system >= LEAST_TIME) throw errors.invalid(`/${shorten(this.source)}/ takes more than ${TIME_LIMIT} ms for one record: make the pattern simpler, without a repeated group that has a repetition in it`)
      }
    } finally {
      limited.text = ''
    }
  }
}

module.exports = { Pattern }
