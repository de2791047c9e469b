#!/usr/bin/env node
'use strict'

// The command line: reads the arguments, runs one command, and turns whatever goes
// wrong into one line on stderr and an exit code: 1 for errors, 2 for wrong usage.

const fs = require('fs')
const path = require('path')
const { Command, CommanderError } = require('commander')
const { complain, explain, oneLine } = require('./errors')

const commands = [
  require('./commands/dump'),
  require('./commands/get'),
  require('./commands/search'),
  require('./commands/append'),
  require('./commands/stat'),
  require('./commands/verify'),
  require('./commands/repair')
]
const FAILED = 1
const WRONG_USAGE = 2

const HELP = `
Examples:
  flumelog append my.log < lines.txt      each line becomes a record
  flumelog dump my.log                    and each record a line again
  flumelog stat my.log                    what the log is made of

\`flumelog help dump\` shows more about a command. Exit codes: 0 done; 1 an
error, or damage was found; 2 wrong usage.`

function main () {
  process.stdout.on('error', onstdouterror)
  process.stderr.on('error', () => {})
  process.removeAllListeners('warning')
  process.on('warning', ({ message }) => complain(`warning: ${message}`))
  process.on('uncaughtException', (err) => {
    complain(explain(err, fileOf(program)))
    process.exit(FAILED)
  })

  const program = programOf()
  program.parseAsync().catch((err) => {
    if (err instanceof CommanderError) process.exitCode = err.exitCode === 0 ? 0 : WRONG_USAGE
    else {
      complain(explain(err, fileOf(program)))
      process.exitCode = FAILED
    }
  })
}

function programOf () {
  const program = new Command('flumelog')
    .description('Looks into block-aligned append-only logs, and writes and repairs them.')
    .version(version(), '-V, --version')
    .addHelpText('after', HELP)
    .exitOverride()
  for (const { define } of commands) define(program)
  for (const command of [program, ...program.commands]) {
    command.configureOutput({
      outputError: (text) => complain(`${usageError(text)}; see ${pathOf(command)} --help`)
    })
  }
  return program
}

/** @param {string} text commander's */
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
 * @returns {string} the log that the command is about
 */
function fileOf (program) {
  const command = program.commands.find(command => command.args.length > 0)
  return command === undefined ? 'flumelog' : command.args[0]
}

/**
 * A reader such as head may have had enough.
 * @param {Error & { code?: string }} err
 */
function onstdouterror (err) {
  if (err.code === 'EPIPE') process.exit(process.exitCode)
  complain(explain(err, 'standard output'))
  process.exit(FAILED)
}

main()
