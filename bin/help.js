'use strict'

// Lays out the text after the options in the help: it is wrapped at the width of the terminal.

const { Help } = require('commander')

const DEFAULT_WIDTH = 80

/**
 * @param {string} text paragraphs, and indented lines: an example, and after two or more spaces what it does
 * @param {{ columns?: number }} stream
 * @returns {string}
 */
function layOut (text, { columns = DEFAULT_WIDTH }) {
  const help = new Help()
  help.minWidthToWrap = 0
  return text.split('\n\n').map(part => {
    const lines = part.split('\n')
    const start = lines.findIndex(line => line.startsWith('  '))
    if (start === -1) return help.boxWrap(lines.join(' ').trim(), columns)
    return [...lines.slice(0, start), ...lines.slice(start).map(line => fitExample(line, columns))].join('\n')
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

module.exports = { layOut }
