'use strict'

// Lays out the text after the options in the help: it is wrapped at the width of the terminal.

const { Help } = require('commander')

const DEFAULT_WIDTH = 80
/** Text is not wrapped at less than this. */
const MIN_WIDTH = 20

/**
 * @param {string} text paragraphs, and indented lines: an example, and after two or more spaces what it does
 * @returns {(context: { error: boolean }) => string} for `addHelpText`
 */
function helpText (text) {
  return ({ error }) => layOut(text, (error ? process.stderr : process.stdout).columns || DEFAULT_WIDTH)
}

/**
 * @param {string} text
 * @param {number} width
 */
function layOut (text, width) {
  const help = new Help()
  help.minWidthToWrap = MIN_WIDTH
  return text.split('\n\n').map(part => {
    const lines = part.split('\n')
    const start = lines.findIndex(line => line.startsWith('  '))
    if (start === -1) return help.boxWrap(lines.join(' ').trim(), width)
    return [...lines.slice(0, start), ...lines.slice(start).map(line => fitExample(line, width))].join('\n')
  }).join('\n\n').replace(/^\n*/, '\n')
}

/**
 * @param {string} line
 * @param {number} width
 * @returns {string} on several lines if it is too long for one; what is typed remains a shell command
 */
function fitExample (line, width) {
  if (line.length <= width) return line
  const [, command, comment = ''] = /** @type {RegExpMatchArray} */ (line.match(/^( {2}\S.*?)(?: {2,}(.*))?$/))
  const lines = command.length <= width ? [command] : command.replace(/ \| /g, ' |\n    ').split('\n')
  if (comment !== '') lines.push(`      ${comment}`)
  return lines.join('\n')
}

module.exports = { helpText, MIN_WIDTH }
