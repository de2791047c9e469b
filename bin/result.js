'use strict'

// What a command has done is its result: it goes to standard output, as text, as JSON, or not at all. All else that a
// command has to say, such as errors, warnings, questions and progress, goes to stderr.

const { Option } = require('commander')
const { shownOn } = require('./style')

/** @typedef {{ json?: boolean, quiet?: boolean }} ResultOptions */

function jsonOption () {
  return new Option('-j, --json', 'print what was done as JSON')
}

function quietOption () {
  return new Option('-q, --quiet', 'print errors only')
}

/**
 * @param {ResultOptions} options
 * @param {string} file that the first line starts with
 * @param {string | string[]} text what was done
 * @param {object} figures the same for programs
 */
function printResult ({ json, quiet }, file, text, figures) {
  if (json) process.stdout.write(JSON.stringify(figures, null, 2) + '\n')
  else if (!quiet) process.stdout.write(`${shownOn(process.stdout, file)}: ${[text].flat().join('\n')}\n`)
}

module.exports = { jsonOption, quietOption, printResult }
