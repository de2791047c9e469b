'use strict'

// Runs a program with commands: parses the arguments, and runs one. Any error becomes one line on stderr and an exit code: 1 for errors, 2 for
// wrong usage.

const { CommanderError } = require('commander')
const { reportError, explain } = require('./errors')
const { UsageCommand, helpText } = require('./usage')

const FAILED = 1
const WRONG_USAGE = 2

/** @typedef {import('commander').Command} Command */
/** @typedef {{ define: (program: Command) => void }} CommandModule */

/**
 * @typedef {object} Program
 * @property {string} name
 * @property {string} version
 * @property {string} [description] of a program with several commands
 * @property {CommandModule[]} commands those that may be run; a single one is the program itself
 * @property {string[]} [names] of all commands; default: those that are defined
 * @property {Record<string, string[]>} [groups] names of commands by the heading under which the help lists them
 * @property {string} [help] examples, after the options
 */

/** @param {Program} options */
function main (options) {
  const program = programOf(options)
  process.stdout.on('error', (err) => onstdouterror(err))
  process.stderr.on('error', () => {})
  process.removeAllListeners('warning')
  process.on('warning', ({ message }) => reportError(`warning: ${message}`))
  process.on('uncaughtException', (err) => {
    reportError(explain(err, fileOf(program)))
    process.exit(FAILED)
  })

  run(program, options.names ?? program.commands.map(command => command.name())).catch((err) => {
    if (err instanceof CommanderError) process.exitCode = err.exitCode === 0 ? 0 : WRONG_USAGE
    else {
      reportError(explain(err, fileOf(program)))
      process.exitCode = FAILED
    }
  })
}

/**
 * @param {Program} options
 * @returns {Command}
 */
function programOf ({ name, version, description, commands, groups = {}, help }) {
  const program = new UsageCommand(name).version(version, '-V, --version', 'print the version').exitOverride()
  if (description === undefined) commands[0].define(/** @type {any} */ ({ command: () => program }))
  else {
    // of `help`, which is made here
    program.commandsGroup(`${Object.keys(groups).at(-1) ?? 'Commands'}:`)
    program.description(description).helpCommand('help [command]', 'print the help of a command')
    if (help !== undefined) program.addHelpText('after', helpText(help))
    for (const command of commands) command.define(program)
    for (const [heading, names] of Object.entries(groups)) {
      for (const command of program.commands) if (names.includes(command.name())) command.helpGroup(`${heading}:`)
    }
  }
  return program
}

/**
 * @param {Command} program
 * @param {string[]} names of its commands
 */
async function run (program, names) {
  const [word, ...rest] = process.argv.slice(2)
  const hasCommands = names.length > 0
  // commander would print the help, whatever it is asked for
  if (hasCommands && ['help', '--help', '-h'].includes(word)) mustBeCommand(program, names, rest.filter(name => !['--help', '-h'].includes(name)))
  await program.parseAsync(hasCommands && word === 'help' && rest[0] === 'help' ? ['--help'] : process.argv.slice(2), { from: 'user' })
}

/**
 * @param {Command} program
 * @param {string[]} names of its commands
 * @param {string[]} asked names that the help is asked for
 */
function mustBeCommand (program, names, asked) {
  const option = asked.find(name => name.startsWith('-'))
  if (option !== undefined) program.error(`error: unknown option '${option}'`)
  if (asked.length > 0 && ![...names, 'help'].includes(asked[0])) program.error(`error: unknown command '${asked[0]}'`)
  if (asked.length > 1) program.error(`error: too many arguments. Expected 1 argument but got ${asked.length}.`)
}

/**
 * @param {Command} program
 * @returns {string} the log given to the command
 */
function fileOf (program) {
  const command = [program, ...program.commands].find(command => command.args.length > 0 && command.registeredArguments.length > 0)
  return command === undefined ? program.name() : command.args[0]
}

/**
 * A reader such as head may close the pipe early, which is not an error.
 * @param {Error & { code?: string }} err
 */
function onstdouterror (err) {
  if (err.code === 'EPIPE') process.exit(process.exitCode)
  reportError(explain(err, 'standard output'))
  process.exit(FAILED)
}

module.exports = { main }
