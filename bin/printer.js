'use strict'

// Prints records in one of the encodings, with or without their seqs.

const { encodings } = require('./encodings')
const { UserError } = require('./errors')

/**
 * @typedef {object} PrintOptions
 * @property {string} encoding
 * @property {boolean} [seqs] prefix each record with its seq and a tab
 */

/**
 * @param {import('./output').Output} output
 * @param {string} file
 * @param {PrintOptions} options
 * @returns {(data: Buffer, seq: number) => void}
 */
function printer (output, file, { encoding, seqs }) {
  const { print, isText } = encodings[encoding]
  return (data, seq) => {
    let printed
    try {
      printed = print(data)
    } catch (err) {
      throw new UserError(`${file}: the record at offset ${seq} cannot be printed: ${/** @type {Error} */ (err).message}; ` +
        'try --encoding utf8 or hex')
    }
    if (seqs) output.add(`${seq}\t`)
    output.add(printed)
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
  if (seqs && encoding === 'raw') command.error("error: option '--seqs' cannot be used with '--encoding raw'")
}

module.exports = { printer, refuseRawSeqs }
