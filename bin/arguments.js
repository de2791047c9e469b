'use strict'

// Parses and checks the values of arguments; an invalid value is a usage error.

const { InvalidArgumentError } = require('commander')
const { MIN_BLOCK_SIZE, MAX_BLOCK_SIZE } = require('../lib/format/layout')

/**
 * @param {string} text
 * @returns {number}
 */
function integer (text) {
  const number = Number(text)
  if (/^[+-]?\d+$/.test(text) && Number.isSafeInteger(number)) return number
  throw new InvalidArgumentError('It must be an integer.')
}

/**
 * @param {string} text
 * @returns {number}
 */
function natural (text) {
  const number = /^\+?\d+$/.test(text) ? Number(text) : -1
  if (Number.isSafeInteger(number) && number >= 0) return number
  throw new InvalidArgumentError('It must be a non-negative integer.')
}

/**
 * @param {string} text
 * @returns {number}
 */
function blockSize (text) {
  const number = /^\d+$/.test(text) ? Number(text) : -1
  if (number >= MIN_BLOCK_SIZE && number <= MAX_BLOCK_SIZE) return number
  throw new InvalidArgumentError(`It must be an integer from ${MIN_BLOCK_SIZE} to ${MAX_BLOCK_SIZE}.`)
}

/**
 * @param {string} text
 * @returns {string[]} the keys of a path such as value.content.type
 */
function jsonPath (text) {
  const keys = text.split('.')
  if (keys.every(key => key !== '')) return keys
  throw new InvalidArgumentError('It must be keys separated by dots, such as value.timestamp.')
}

module.exports = { integer, natural, blockSize, jsonPath }
