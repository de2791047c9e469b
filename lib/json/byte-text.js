'use strict'

// Searches the bytes of UTF-8 for a text, in upper or lower case: decoding all records to search them takes ten times as long.

/** All characters of which there are others that differ in case only; listed when the first is asked for. */
let cased = ''

/**
 * @param {string} text
 * @returns {RegExp} finds it in UTF-8 that was read as latin1, wherever `/text/iu` finds it in the text itself
 */
function byteText (text) {
  return new RegExp(Array.from(text, character => {
    const variants = variantsOf(character).map(variant => Buffer.from(variant).toString('latin1').replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'))
    return variants.length === 1 ? variants[0] : `(?:${variants.join('|')})`
  }).join(''))
}

/**
 * @param {string} character
 * @returns {string[]} it, and those that differ from it in case only
 */
function variantsOf (character) {
  if (cased === '') cased = casedCharacters()
  const same = new RegExp(character.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&'), 'giu')
  return [...new Set([character, ...cased.match(same) ?? []])]
}

function casedCharacters () {
  let found = ''
  for (let code = 0; code <= 0x1ffff; code++) {
    const character = String.fromCodePoint(code)
    if (/[\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}]/u.test(character)) found += character
  }
  return found
}

module.exports = { byteText }
