#!/usr/bin/env node
'use strict'

// The command line: parses the arguments and runs one command. Any error becomes one
// line on stderr and an exit code: 1 for errors, 2 for wrong usage.

const fs = require('fs')
const path = require('path')
const { Command, CommanderError } = require('commander')
const { reportError, explain, oneLine } = require('./errors')

const COMMANDS = ['dump', 'get', 'search', 'append', 'serve', 'stat', 'verify', 'repair']
const FAILED = 1
const WRONG_USAGE = 2

const HELP = `
Examples:
  flumelog append my.log < lines.txt      append each line as a record
  flumelog dump my.log                    print each record as a line
  flumelog stat my.log                    count records and bytes
  flumelog serve my.log                   let several processes append

\`flumelog help dump\` explains a command. Exit codes: 0 success; 1 error, or
corrupt blocks found; 2 wrong usage.`

function main () {
  process.stdout.on('error', onstdouterror)
  process.stderr.on('error', () => {})
  process.removeAllListeners('warning')
  process.on('warning', ({ message }) => reportError(`warning: ${message}`))
  process.on('uncaughtException', (err) => {
    reportError(explain(err, fileOf(program)))
    process.exit(FAILED)
  })

  const program = programOf()
  program.parseAsync().catch((err) => {
    if (err instanceof CommanderError) process.exitCode = err.exitCode === 0 ? 0 : WRONG_USAGE
    else {
      reportError(explain(err, fileOf(program)))
      process.exitCode = FAILED
    }
  })
}

function programOf () {
  const program = new Command('flumelog')
    .description('Inspects, writes and repairs block-aligned append-only logs.')
    .version(version(), '-V, --version')
    .addHelpText('after', HELP)
    .exitOverride()
  for (const name of commandsOf(process.argv[2])) require(`./commands/${name}`).define(program)
  for (const command of [program, ...program.commands]) {
    command.configureOutput({
      outputError: (text) => reportError(`${usageError(text)}; see ${pathOf(command)} --help`)
    })
  }
  return program
}

/**
 * Loading all commands takes as long as starting Node.js.
 * @param {string | undefined} word the first argument
 * @returns {string[]} the names of those that are needed
 */
function commandsOf (word = '') {
  if (COMMANDS.includes(word)) return [word]
  return word === '--version' || word === '-V' ? [] : COMMANDS
}

/** @param {string} text of an error of commander */
function usageError (text) {
  return oneLine(text).replace(/^error: /, '').replace(/(invalid.*)\. It must/, '$1: it must').replace(/\.$/, '')
}

/** @returns {string} */
function version () {
  return JSON.parse(fs.readFileSync(path.join(__dirname, '..', 'package.json'), 'utf8')).version
}

/** @param {Command} command */
function pathOf (command) {
  return command.parent === null ? command.name() : `${command.parent.name()} ${command.name()}`
}

/**
 * @param {Command} program
 * @returns {string} the log given to the command
 */
function fileOf (program) {
  const command = program.commands.find(command => command.args.length > 0)
  return command === undefined ? 'flumelog' : command.args[0]
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

main()
