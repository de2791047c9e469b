'use strict'

// Usage errors in one style, and help that fits the terminal.

const { Command, Help } = require('commander')
const { reportError, oneLine } = require('./errors')

/**
 * What commander says, and what is printed instead. Values can contain anything, so each
 * pattern takes the whole text.
 * @type {Array<[RegExp, (...found: string[]) => string]>}
 */
const MESSAGES = [
  [/^error: missing required argument '(.*)'$/, (name) => `<${name}> is missing`],
  [/^error: option '(.*)' argument missing$/, (flags) => `${long(flags)} needs a value`],
  [/^error: required option '(.*)' not specified$/, (flags) => `${long(flags)} is missing`],
  [/^error: option '(.*)' cannot be used with option '(.*)'$/, (flags, others) => `${long(flags)} cannot be used with ${long(others)}`],
  [/^error: option '(.*?)' argument '([^]*)' is invalid\. ([^]*)$/, (flags, value, reason) => `${long(flags)} ${reason}, not '${value}'`],
  [/^error: command-argument value '([^]*)' is invalid for argument '(.*?)'\. ([^]*)$/, (value, name, reason) => `<${name}> ${reason}, not '${value}'`],
  [/^error: unknown (option|command) '([^]*?)'(?:\n\(Did you mean (.*)\?\))?$/, (what, name, similar) => {
    const meant = (what === 'command' && ELSEWHERE.get(name)) || similar?.replace(/^one of /, '').split(', ')
    return `unknown ${what} '${name}'${meant ? ` (did you mean ${oneOf(meant)}?)` : ''}`
  }],
  [/^error: too many arguments.* Expected (\d+) .*got (\d+)/, (expected, got) => `too many arguments: expected ${expected}, got ${got}`]
]

/** What does here what commands of these names do elsewhere: those that are spelled alike may do something else, and for good. */
const ELSEWHERE = new Map(Object.entries({
  cat: ['dump'],
  head: ['dump --limit 10'],
  tail: ['dump --tail 10'],
  follow: ['dump --live'],
  watch: ['dump --live'],
  grep: ['dump --where', 'view'],
  find: ['search', 'view'],
  ls: ['stat', 'dump'],
  list: ['stat', 'dump'],
  info: ['stat'],
  count: ['stat'],
  check: ['verify'],
  fsck: ['verify'],
  rm: ['del'],
  remove: ['del'],
  delete: ['del'],
  vacuum: ['compact'],
  copy: ['backup'],
  cp: ['backup'],
  write: ['append'],
  add: ['append'],
  open: ['view']
}))

/** Help is not wrapped at less than this. */
const MIN_WIDTH = 20

/** A command or subcommand whose usage errors are one line that refers to its help. */
class UsageCommand extends Command {
  /** @param {string} [name] */
  constructor (name) {
    super(name)
    this.configureOutput({ outputError: (text) => reportError(text) })
    this.helpOption('-h, --help', 'print this help')
    this.configureHelp({ minWidthToWrap: MIN_WIDTH, formatItem })
  }

  /** @param {string} [name] */
  createCommand (name) {
    return new UsageCommand(name)
  }

  /**
   * @param {string} message
   * @param {import('commander').ErrorOptions} [options]
   * @returns {never}
   */
  error (message, options) {
    return super.error(`${oneLine(translate(message))}; see ${pathOf(this)} --help`, options)
  }
}

/**
 * @param {string} term
 * @param {number} termWidth
 * @param {string} description
 * @param {Help} helper
 * @returns {string} on a terminal too narrow for two columns, the description is below the term
 */
function formatItem (term, termWidth, description, helper) {
  const width = helper.helpWidth ?? 80
  // as commander does: two spaces before and between
  if (width - termWidth - 4 >= MIN_WIDTH || description === '') return Help.prototype.formatItem.call(helper, term, termWidth, description, helper)
  const narrow = Object.assign(new Help(), { minWidthToWrap: 0 })
  return `  ${term}\n${narrow.boxWrap(description, Math.max(MIN_WIDTH, width - 6)).replace(/^/gm, '      ')}`
}

/**
 * @param {string} text after the options in the help
 * @returns {(context: { error: boolean }) => string} for `addHelpText`: lays it out for the terminal
 */
function helpText (text) {
  // loaded lazily: most runs print no help
  return ({ error }) => require('./help').layOut(text, error ? process.stderr : process.stdout)
}

/** @param {string} message of commander, or ours */
function translate (message) {
  for (const [pattern, say] of MESSAGES) {
    const found = message.match(pattern)
    if (found !== null) return say(...found.slice(1))
  }
  return message
}

/** @param {string} flags -e, --encoding <name> */
function long (flags) {
  return flags.match(/--[\w-]+/)?.[0] ?? flags
}

/** @param {import('commander').Command} command */
function pathOf (command) {
  return command.parent === null ? command.name() : `${command.parent.name()} ${command.name()}`
}

/**
 * @param {string[]} names
 * @returns {string} a, b or c
 */
function oneOf (names) {
  return names.length === 1 ? names[0] : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
}

module.exports = { UsageCommand, helpText, oneOf }
