'use strict'

// Parses filters: docs/filters.md specifies their language.

const errors = require('../errors')
const { shorten } = require('../format-value')
const { Pattern } = require('./pattern')

const OPERATORS = ['=', '!=', '>', '>=', '<', '<=', '~']
/** What ends a text, or a value; put it in quotes there. */
const KEYWORDS = ['and', 'or', 'not']
const MAX_LENGTH = 1000

const WORD = /[^\s()"=<>!~]+/y
const QUOTED = /"((?:[^"\\]|\\[^])*)"/y
const SIGNS = /[=<>!~]+/y
const PATTERN = /\/((?:[^/\\]|\\[^])+)\/(\w*)/y

const IN_QUOTES = 'put text in double quotes, with \\" for a quote within it'

/**
 * @typedef {{ text: string, isQuoted: boolean }} Wanted a value, as it is written in a filter; a quoted one is a string
 *
 * @typedef {{ type: 'all' }} All
 * @typedef {{ type: 'text', text: string }} Text
 * @typedef {{ type: 'comparison', path: string[], operator: string, wanted: Wanted }} Comparison
 * @typedef {{ type: 'exists', path: string[] }} Exists
 * @typedef {{ type: 'pattern', path: string[] | null, pattern: Pattern }} Matching path null: the text of the record
 * @typedef {{ type: 'and' | 'or', parts: Condition[] }} Combination
 * @typedef {{ type: 'not', part: Condition }} Not
 * @typedef {All | Text | Comparison | Exists | Matching | Combination | Not} Condition
 */

class Parser {
  /** @param {string} query */
  constructor (query) {
    this.query = query
    this.position = 0
  }

  /** @returns {Condition} */
  parse () {
    this.skipSpace()
    if (this.isAtEnd) return { type: 'all' }
    const condition = this.combination('or')
    if (this.isAtEnd) return condition
    if (this.query[this.position] === ')') throw this.error('there is a `)` without a `(`')
    throw this.unexpected()
  }

  get isAtEnd () {
    return this.position === this.query.length
  }

  /**
   * @param {'or' | 'and'} type `and` binds more tightly
   * @returns {Condition}
   */
  combination (type) {
    const next = () => type === 'or' ? this.combination('and') : this.condition()
    const parts = [next()]
    while (this.takeKeyword(type)) parts.push(next())
    return parts.length === 1 ? parts[0] : { type, parts }
  }

  /** @returns {Condition} */
  condition () {
    if (this.takeKeyword('not')) return { type: 'not', part: this.condition() }
    if (this.take(/\(/y)) {
      const condition = this.combination('or')
      if (!this.take(/\)/y)) throw this.isAtEnd ? this.error('a `)` is missing') : this.unexpected()
      return condition
    }
    const quoted = this.takeQuoted()
    if (quoted !== null) {
      if (this.take(SIGNS)) throw this.error(`"${shorten(quoted)}" in quotes is text: write a path without quotes`)
      return { type: 'text', text: quoted }
    }
    return this.words()
  }

  /** What starts with words: a text, or a path and what its value must be. @returns {Condition} */
  words () {
    const words = this.takeWords()
    const signs = this.take(SIGNS)?.[0]
    if (signs !== undefined) return this.comparison(words, signs)
    if (words === '') throw this.isMissing()
    const path = words.split(/\s+/)
    if (path.at(-1)?.toLowerCase() !== 'exists' || path.length === 1) return { type: 'text', text: words }
    if (path.length === 2) return { type: 'exists', path: this.keysOf(path[0]) }
    throw this.error(`a path has no spaces: write path exists; ${IN_QUOTES}`)
  }

  /**
   * @param {string} path
   * @param {string} operator
   * @returns {Condition}
   */
  comparison (path, operator) {
    if (!OPERATORS.includes(operator)) throw this.error(`\`${operator}\` is no operator: write path = value, or one of ${OPERATORS.slice(1).join(' ')}; ${IN_QUOTES}`)
    if (/\s/.test(path)) throw this.error(`\`${shorten(path)}\` is no path, since it has spaces: write \`and\` or \`or\` between two conditions; ${IN_QUOTES}`)
    if (operator === '~') return { type: 'pattern', path: path === '' ? null : this.keysOf(path), pattern: this.takePattern() }
    if (path === '') throw this.error(`\`${operator}\` has no path: write path ${operator} value; ${IN_QUOTES}`)
    const quoted = this.takeQuoted()
    const text = quoted ?? this.takeWords()
    if (text === '' && quoted === null) throw this.error(`\`${operator}\` has no value: write path ${operator} value; ${IN_QUOTES}`)
    return { type: 'comparison', path: this.keysOf(path), operator, wanted: { text, isQuoted: quoted !== null } }
  }

  /** @param {string} path */
  keysOf (path) {
    const keys = path.split('.')
    if (keys.some(key => key === '')) throw this.error(`the path must be keys separated by dots, such as value.timestamp; it is ${shorten(path)}`)
    return keys
  }

  // Tokens, and the space behind them

  /**
   * @param {RegExp} token sticky
   * @returns {RegExpExecArray | null}
   */
  take (token) {
    token.lastIndex = this.position
    const found = token.exec(this.query)
    if (found === null) return null
    this.position += found[0].length
    this.skipSpace()
    return found
  }

  /** @param {string} keyword */
  takeKeyword (keyword) {
    return this.take(new RegExp(`${keyword}(?=[\\s()"]|$)`, 'iy')) !== null
  }

  /** @returns {string | null} */
  takeQuoted () {
    const found = this.take(QUOTED)
    if (found !== null) return found[1].replace(/\\(["\\])/g, '$1')
    if (this.query[this.position] === '"') throw this.error('a closing double quote is missing')
    return null
  }

  /** @returns {string} words up to a keyword or a sign, as they are written; empty: there are none */
  takeWords () {
    const start = this.position
    let end = start
    for (;;) {
      WORD.lastIndex = this.position
      const word = WORD.exec(this.query)?.[0]
      if (word === undefined || KEYWORDS.includes(word.toLowerCase())) break
      if (word[0] === "'") throw this.error(`${shorten(this.query.slice(this.position))} is in single quotes: use double quotes`)
      if (word === '&&' || word === '||') throw this.error(`\`${word}\` is no operator: write \`${word === '&&' ? 'and' : 'or'}\``)
      end = this.position + word.length
      this.take(WORD)
    }
    return this.query.slice(start, end)
  }

  /** @returns {Pattern} */
  takePattern () {
    const found = this.take(PATTERN)
    if (found === null) throw this.error('`~` has no pattern: write path ~ /pattern/, or /pattern/i for upper and lower case')
    if (found[2] !== '' && found[2] !== 'i') throw this.error(`a pattern can have the flag i only, not ${found[2]}`)
    return new Pattern(found[1], found[2])
  }

  skipSpace () {
    this.position += /^\s*/.exec(this.query.slice(this.position))?.[0].length ?? 0
  }

  // Errors

  isMissing () {
    return this.error(this.isAtEnd ? 'a condition is missing at its end: put a word such as `and` in double quotes if it is text' : `a condition is missing before ${shorten(this.query.slice(this.position))}; ${IN_QUOTES}`)
  }

  unexpected () {
    return this.error(`${shorten(this.query.slice(this.position))} is not expected: write \`and\` or \`or\` between two conditions; ${IN_QUOTES}`)
  }

  /** @param {string} reason */
  error (reason) {
    return errors.invalid(reason)
  }
}

/**
 * @param {string} query
 * @returns {Condition}
 * @throws flumelog:invalid with a hint
 */
function parseFilter (query) {
  const trimmed = query.trim()
  if (trimmed.length > MAX_LENGTH) throw errors.invalid(`the filter must have at most ${MAX_LENGTH} characters; it has ${trimmed.length}`)
  return new Parser(trimmed).parse()
}

/**
 * @param {string} text
 * @returns {string} as a filter has it
 */
function quoted (text) {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

module.exports = { parseFilter, quoted }
