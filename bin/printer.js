'use strict'

// Prints records in one of the encodings, or in another format.

const { encodings } = require('./encodings')
const { UserError } = require('./errors')

/**
 * @typedef {object} PrintOptions
 * @property {string} encoding
 * @property {boolean} [seqs] prefix each record with its seq and a tab
 *
 * @typedef {object} Format
 * @property {(data: Buffer, seq: number) => Buffer | string} print throws if the record cannot be printed in this format
 * @property {boolean} isText print a newline after each record
 * @property {boolean} [seqs] print the seq and a tab before each record
 * @property {string} [header] the first line
 * @property {() => string | null} [note] for stderr, at the end
 * @property {string} [advice] what to do if a record cannot be printed
 */

/**
 * @param {PrintOptions} options
 * @returns {Format}
 */
function encodingFormat ({ encoding, seqs }) {
  const { print, isText } = encodings[encoding]
  return { print, isText, seqs, advice: 'try --encoding utf8 or hex' }
}

/**
 * @param {import('./output').Output} output
 * @param {string} file
 * @param {Format} format
 * @returns {(data: Buffer, seq: number) => void}
 */
function printer (output, file, { print, isText, seqs, advice }) {
  const escape = process.stdout.isTTY ? require('./escapes').printable : null
  return (data, seq) => {
    let printed
    try {
      printed = print(data, seq)
    } catch (err) {
      throw new UserError(`${file}: the record at offset ${seq} cannot be printed: ${/** @type {Error} */ (err).message}; ${advice}`)
    }
    if (seqs) output.add(`${seq}\t`)
    output.add(escape === null ? printed : escape(printed))
    if (isText) output.endLine()
    output.mark()
  }
}

/**
 * Raw records have neither newlines nor lengths between them, so seqs could not be told from data.
 * @param {PrintOptions} options
 * @param {import('commander').Command} command
 */
function refuseRawSeqs ({ encoding, seqs }, command) {
  if (seqs && encoding === 'raw') command.error('--seqs cannot be used with --encoding raw')
}

module.exports = { encodingFormat, printer, refuseRawSeqs }
