#!/usr/bin/env node
'use strict'

// The command line: parses the arguments and runs one command. Any error becomes one
// line on stderr and an exit code: 1 for errors, 2 for wrong usage.

const fs = require('fs')
const path = require('path')
const { CommanderError } = require('commander')
const { reportError, explain } = require('./errors')
const { UsageCommand, helpText } = require('./usage')

const COMMANDS = ['dump', 'get', 'search', 'append', 'del', 'trim', 'reclaim', 'compact', 'cursors', 'serve', 'view', 'stat', 'verify', 'repair', 'import', 'export', 'backup', 'restore', 'mirror', 'pull', 'completion']
const FAILED = 1
const WRONG_USAGE = 2

const HELP = `
Examples:
  flumelog append my.log < lines.txt      append each line as a record
  flumelog dump my.log                    print each record as a line
  flumelog stat my.log                    count records and bytes
  flumelog serve my.log                   let several processes append
  flumelog view my.log                    look into it in a browser

\`flumelog help dump\` explains a command. Exit codes: 0 success; 1 error, or corrupt blocks found; 2 wrong usage.`

function main () {
  const program = programOf()
  process.stdout.on('error', onstdouterror)
  process.stderr.on('error', () => {})
  process.removeAllListeners('warning')
  process.on('warning', ({ message }) => reportError(`warning: ${message}`))
  process.on('uncaughtException', (err) => {
    reportError(explain(err, fileOf(program)))
    process.exit(FAILED)
  })

  run(program).catch((err) => {
    if (err instanceof CommanderError) process.exitCode = err.exitCode === 0 ? 0 : WRONG_USAGE
    else {
      reportError(explain(err, fileOf(program)))
      process.exitCode = FAILED
    }
  })
}

/** @param {import('commander').Command} program */
async function run (program) {
  const [word, ...names] = process.argv.slice(2)
  // commander would print the help, whatever it is asked for
  if (['help', '--help', '-h'].includes(word)) mustBeCommand(program, names.filter(name => !['--help', '-h'].includes(name)))
  await program.parseAsync(word === 'help' && names[0] === 'help' ? ['--help'] : process.argv.slice(2), { from: 'user' })
}

/**
 * @param {import('commander').Command} program
 * @param {string[]} names that the help is asked for
 */
function mustBeCommand (program, names) {
  const option = names.find(name => name.startsWith('-'))
  if (option !== undefined) program.error(`error: unknown option '${option}'`)
  if (names.length > 0 && ![...COMMANDS, 'help'].includes(names[0])) program.error(`error: unknown command '${names[0]}'`)
  if (names.length > 1) program.error(`error: too many arguments. Expected 1 argument but got ${names.length}.`)
}

function programOf () {
  const program = new UsageCommand('flumelog')
    .description('Inspects, writes and repairs block-aligned append-only logs.')
    .version(version(), '-V, --version', 'print the version')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText('after', helpText(HELP))
    .exitOverride()
  for (const name of commandsOf(process.argv[2])) require(`./commands/${name}`).define(program)
  return program
}

/**
 * Loading all commands takes as long as starting Node.js.
 * @param {string | undefined} word the first argument
 * @returns {string[]} the names of those that are needed
 */
function commandsOf (word = '') {
  // completion describes all of them
  if (COMMANDS.includes(word) && word !== 'completion') return [word]
  return word === '--version' || word === '-V' ? [] : COMMANDS
}

/** @returns {string} */
function version () {
  return JSON.parse(fs.readFileSync(path.join(__dirname, '..', 'package.json'), 'utf8')).version
}

/**
 * @param {import('commander').Command} program
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
