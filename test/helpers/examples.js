'use strict'

// Runs the examples in ```console blocks of a page, with bash.

const { spawnSync } = require('child_process')
const fs = require('fs')
const path = require('path')
const { PROGRAM } = require('./command-line')

/**
 * @typedef {{ command: string, output: string }} Example
 */

/**
 * @param {string} page Markdown
 * @returns {Example[]}
 */
function examplesIn (page) {
  return [...page.matchAll(/^```console\n([^]*?)^```$/gm)].flatMap(([, block]) =>
    block.split(/^\$ /m).slice(1).map((part) => {
      const end = part.indexOf('\n')
      return { command: part.slice(0, end), output: part.slice(end + 1) }
    }))
}

/**
 * Updates the output of the commands in a page.
 * @param {string} page
 * @param {(command: string) => string} run
 * @returns {string}
 */
function withOutputs (page, run) {
  return page.replace(/^```console\n([^]*?)^```$/gm, (_, block) => {
    const commands = block.split('\n').filter(line => line.startsWith('$ '))
    return '```console\n' + commands.map(line => `${line}\n${run(line.slice(2))}`).join('') + '```'
  })
}

/**
 * @param {string} folder in which the commands run; flumelog is the program under test
 * @returns {(command: string) => string} what a command prints on stdout and stderr
 */
function shellIn (folder) {
  const bin = path.join(folder, '.bin')
  fs.mkdirSync(bin)
  fs.symlinkSync(PROGRAM, path.join(bin, 'flumelog'))
  const env = { ...process.env, PATH: `${bin}:${path.dirname(process.execPath)}:${process.env.PATH}`, LC_ALL: 'C' }
  return (command) => spawnSync('bash', ['-c', `exec 2>&1; ${command}`], { cwd: folder, env, encoding: 'utf8' }).stdout
}

module.exports = { examplesIn, withOutputs, shellIn }
