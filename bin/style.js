'use strict'

// Colours text for terminals, unless NO_COLOR is set, and escapes what they would obey.

/** @type {Record<string, string>} */
const CODES = { red: '31', yellow: '33' }

/**
 * @param {NodeJS.WriteStream} stream to which the text will be printed
 * @param {'red' | 'yellow'} style
 * @param {string} text
 * @returns {string}
 */
function paint (stream, style, text) {
  if (!stream.isTTY || process.env.NO_COLOR || process.env.TERM === 'dumb') return text
  return `\x1b[${CODES[style]}m${text}\x1b[0m`
}

/** Control characters (C0, DEL and C1), except tabs and newlines; line separators; characters that are invisible, or turn text around. */
const CONTROLS = /(?![\t\n])[\p{Cc}\p{Bidi_Control}\u00ad\u200b\u2028\u2029\u2060-\u206f\ufeff\ufff9-\ufffb]/gu

/**
 * Control characters could clear the screen, change colours, or make the terminal send what was not typed.
 * @param {string} text
 * @returns {string} with control characters as in JSON: \u001b
 */
function escapeControls (text) {
  return text.replace(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/**
 * @param {NodeJS.WriteStream} stream to which the text will be printed
 * @param {string} text the name of a file, which can contain anything
 * @returns {string}
 */
function shownOn (stream, text) {
  return stream.isTTY ? escapeControls(text) : text
}

module.exports = { paint, escapeControls, shownOn }
