#!/usr/bin/env node
'use strict'

// The command line: finds the command, and runs it.

const { version } = require('../package.json')
const { main } = require('./main')
const { PACKAGES, isInstalled, packagedCommand } = require('./packaged')

/** All commands, as the help lists them. */
const GROUPS = {
  'Read and write': ['dump', 'get', 'search', 'append', 'del', 'view'],
  'Free space': ['trim', 'compact'],
  'Check and repair': ['stat', 'verify', 'repair'],
  'Copy and convert': ['backup', 'restore', 'import', 'export', 'mirror', 'pull'],
  'Several programs': ['serve', 'cursors'],
  Other: ['completion']
}
const NAMES = Object.values(GROUPS).flat()

/** @returns {string} the examples of all commands */
const help = () => `
Examples:
  flumelog append my.log < lines.txt      append each line as a record
  flumelog dump my.log                    print each record as a line
  flumelog stat my.log                    count records and bytes
  flumelog serve my.log                   let several processes append
${isInstalled('view') ? '  flumelog view my.log                    look into it in a browser\n' : ''}
\`flumelog help dump\` explains a command. Exit codes: 0 success; 1 error, or corrupt blocks found; 2 wrong usage.`

/**
 * Loading all commands takes as long as starting Node.js.
 * @param {string | undefined} word the first argument
 * @returns {string[]} the names of those that are needed
 */
function namesNeeded (word = '') {
  // completion describes all of them
  if (NAMES.includes(word) && word !== 'completion') return [word]
  return word === '--version' || word === '-V' ? [] : NAMES
}

const needed = namesNeeded(process.argv[2])

main({
  name: 'flumelog',
  version,
  description: 'Inspects, writes and repairs block-aligned append-only logs.',
  commands: needed.map(name => name in PACKAGES ? packagedCommand(name) : require(`./commands/${name}.js`)),
  names: NAMES,
  groups: GROUPS,
  help: needed === NAMES ? help() : undefined
})
