// The types need those of Node.js, which TypeScript 6 and later load only where this is said.
/// <reference types="node" preserve="true" />

'use strict'

// Values in records that are JSON, as the commands `dump` and `search` find, compare and print them.

const { cellText, rowOf } = require('./lib/json/csv')
const { parseDate, unitOf } = require('./lib/json/dates')
const { decodeJson, filterOf } = require('./lib/json/filter')
const { parseFilter, quoted } = require('./lib/json/parse-filter')
const { searchJson } = require('./lib/json/search')
const { compact, finder, pretty } = require('./lib/json/text')

/**
 * @typedef {import('./lib/errors').LogError} LogError
 * @typedef {import('./lib/errors').SystemError} SystemError
 * @typedef {import('./lib/errors').ErrorCode} ErrorCode
 * @typedef {import('./lib/json/dates').Time} Time
 * @typedef {import('./lib/json/filter').Decoded} Decoded
 * @typedef {import('./lib/json/filter').Filter} Filter
 * @typedef {import('./lib/json/parse-filter').Condition} Condition
 * @typedef {import('./lib/json/search').SearchedLog} SearchedLog
 * @typedef {import('./lib/json/search').SeqAndData} SeqAndData
 */

module.exports = { compact, pretty, finder, decodeJson, parseFilter, quoted, filterOf, searchJson, cellText, rowOf, parseDate, unitOf }
