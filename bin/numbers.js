'use strict'

// Formats numbers for people.

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB']

/**
 * @param {number} number
 * @returns {string} 1234567.8 as 1,234,568 (toLocaleString would load the data of ICU for that)
 */
function count (number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ',')
}

/**
 * @param {number} number
 * @param {string} noun
 * @param {string} [nouns]
 * @returns {string} "1 block", "2 blocks"
 */
function counted (number, noun, nouns = noun + 's') {
  return `${count(number)} ${number === 1 ? noun : nouns}`
}

/**
 * @param {number} bytes
 * @returns {string} with three digits and a unit: 10.5 MB
 */
function size (bytes) {
  let unit = 0
  while (bytes >= 999.5 && unit < UNITS.length - 1) {
    bytes /= 1000
    unit++
  }
  if (unit === 0) return counted(bytes, 'byte')
  return `${bytes.toFixed(bytes < 9.995 ? 2 : bytes < 99.95 ? 1 : 0)} ${UNITS[unit]}`
}

/**
 * @param {number} part
 * @param {number} whole
 * @returns {number} with one decimal; 0 if `whole` is 0
 */
function percent (part, whole) {
  return whole === 0 ? 0 : Math.round(part / whole * 1000) / 10
}

module.exports = { count, counted, size, percent }
