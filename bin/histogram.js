'use strict'

// Draws a histogram with block characters.

const { count } = require('./numbers')

/** Zero to seven eighths of a character. */
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']
const MIN_BAR = 10

/**
 * @typedef {{ label: string, value: number }} Bucket
 */

/**
 * @param {Bucket[]} buckets
 * @param {{ label: string, value: string }} heading
 * @param {number} width of the terminal
 * @returns {string[]} lines
 */
function histogram (buckets, heading, width) {
  const labelWidth = Math.max(heading.label.length, ...buckets.map(({ label }) => label.length))
  const valueWidth = Math.max(heading.value.length, ...buckets.map(({ value }) => count(value).length))
  const most = Math.max(...buckets.map(({ value }) => value))
  const barWidth = Math.max(MIN_BAR, width - labelWidth - valueWidth - 4)
  const line = (/** @type {string} */ label, /** @type {string} */ value, /** @type {string} */ bar) =>
    `${label.padStart(labelWidth)}  ${value.padStart(valueWidth)}  ${bar}`.trimEnd()
  return [
    line(heading.label, heading.value, ''),
    ...buckets.map(({ label, value }) => line(label, count(value), bar(value / most * barWidth)))
  ]
}

/**
 * @param {number} length in characters
 * @returns {string} empty only if the length is 0
 */
function bar (length) {
  const eighths = length === 0 ? 0 : Math.max(1, Math.round(length * 8))
  return '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8]
}

module.exports = { histogram }
