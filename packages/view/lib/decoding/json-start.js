'use strict'

// The start of a JSON document that is too long to be read, made whole.

const OPENING = '{['
/** Brackets, commas, and strings, the last of which may be cut. */
const TOKENS = /"[^"\\]*(?:\\[^][^"\\]*)*(?:"|\\?$)|[[\]{},]/g

/**
 * @param {string} text the first part of a document
 * @returns {string | null} the same up to the last value that is complete, with what is open closed; null: it is no object, nor an array
 */
function closedStart (text) {
  /** What has to be closed, innermost last. @type {string[]} */
  const open = []
  let end = 0
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    // a key, or a value after which a comma or a bracket comes
    if (token[0] === '"') continue
    if (OPENING.includes(token)) {
      open.push(token === '{' ? '}' : ']')
      end = index + 1
    } else if (token === ',') end = index
    else {
      open.pop()
      end = index + 1
    }
  }
  return end === 0 ? null : text.slice(0, end) + open.reverse().join('')
}

module.exports = { closedStart }
