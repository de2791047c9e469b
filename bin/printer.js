'use strict'

// Records printed in one of the encodings, with their seqs or without.

const { encodings } = require('./encodings')
const { UserError } = require('./errors')

/**
 * @typedef {object} PrintOptions
 * @property {string} encoding
 * @property {boolean} [seqs] put the seq and a tab in front
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
      throw new UserError(`${file}: the record at offset ${seq} cannot be shown: ${/** @type {Error} */ (err).message}; ` +
        'try --encoding utf8, or hex')
    }
    if (seqs) output.add(`${seq}\t`)
    output.add(printed)
    if (isText) output.endLine()
    output.mark()
  }
}

/**
 * With neither newlines nor lengths between them, seqs and raw records could not be told apart.
 * @param {PrintOptions} options
 * @param {import('commander').Command} command
 */
function refuseRawSeqs ({ encoding, seqs }, command) {
  if (seqs && encoding === 'raw') command.error("error: option '--seqs' cannot be used with '--encoding raw'")
}

module.exports = { printer, refuseRawSeqs }
