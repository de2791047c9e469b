// How numbers, times and text are written on the page.

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB']
/** Characters that are invisible, or change the direction of the text around them. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g // eslint-disable-line no-control-regex

const grouped = new Intl.NumberFormat('en-US')

export const count = (/** @type {number} */ number) => grouped.format(number)

/** @param {number} number of bytes */
export function bytes (number) {
  let unit = 0
  while (number >= 1000 && unit < UNITS.length - 1) {
    number /= 1000
    unit++
  }
  return `${unit === 0 || number >= 100 ? Math.round(number) : number.toFixed(1)} ${number === 1 && unit === 0 ? 'byte' : UNITS[unit]}`
}

export const plural = (/** @type {number} */ number, /** @type {string} */ noun) => `${count(number)} ${noun}${number === 1 ? '' : 's'}`

export const percent = (/** @type {number} */ fraction, digits = 0) => `${(fraction * 100).toFixed(digits)} %`

/**
 * @param {number} ms since 1970
 * @returns {string} in UTC, to the millisecond; empty if there is no such time
 */
export function time (ms) {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().replace('T', ' ').replace('Z', '')
}

/**
 * @param {number} ms since 1970
 * @returns {string} in the zone of this browser
 */
export function localTime (ms) {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? '' : date.toLocaleString('sv-SE', { dateStyle: 'short', timeStyle: 'long' })
}

/** Joiners of emoji, and of letters of scripts that need them; between others, they hide differences. */
const JOINED = /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]|(?![\p{scx=Latin}\p{scx=Greek}\p{scx=Cyrillic}])[\p{L}\p{M}])[\u200c\u200d](?=\p{Extended_Pictographic}|(?![\p{scx=Latin}\p{scx=Greek}\p{scx=Cyrillic}])[\p{L}\p{M}])/u

/**
 * Makes hidden characters visible, so that a record looks like what it contains.
 * @param {string} text
 */
export function visible (text) {
  return text.replace(HIDDEN, (character, index) => {
    if ((character === '\u200c' || character === '\u200d') && isJoined(text, index)) return character
    const code = character.charCodeAt(0)
    if (code < 0x20) return String.fromCharCode(0x2400 + code)
    return code === 0x7f ? '\u2421' : `\\u${code.toString(16).padStart(4, '0')}`
  })
}

/** @param {string} text @param {number} index of a joiner */
function isJoined (text, index) {
  return JOINED.test(text.slice(Math.max(0, index - 2), index + 3))
}

/** @param {string} base64 */
export function decodeBytes (base64) {
  const binary = window.atob(base64)
  const result = new Uint8Array(binary.length)
  for (let i = 0; i < binary.length; i++) result[i] = binary.charCodeAt(i)
  return result
}
