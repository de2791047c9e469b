'use strict'

// The JSON interface of the page, which README.md describes.

const { filterOf } = require('flumelog-random-access-file/json')
const errors = require('../errors')
const { findAt, findTime, findValue } = require('../log/find')
const { summaries, wholeBlock } = require('../log/blocks')
const { EventStream } = require('./events')
const { sendContent } = require('../log/content')
const { sendExport } = require('../log/export')
const { sendFiltered } = require('../log/filtered')
const { newsSince } = require('../log/live')
const { sendNumbers } = require('../log/numbers')
const { overviewOf } = require('../log/overview')
const { pathsOf } = require('../decoding/paths')
const { sendVerified } = require('../log/verify')

const MAX_ROWS = 200
const MAX_BLOCKS = 1024
const MAX_COLUMNS = 20

/**
 * @typedef {import('../log/rows').Rows} Rows
 * @typedef {import('./parameters').Parameters} Parameters
 * @typedef {import('http').ServerResponse} ServerResponse
 *
 * @typedef {object} Asked
 * @property {Rows} rows
 * @property {Parameters} parameters
 * @property {string | null} encoding
 * @property {AbortSignal} gone aborted when the reader has gone
 *
 * @typedef {(asked: Asked) => Promise<object | string>} Answer an object, or JSON
 * @typedef {(asked: Asked, response: ServerResponse) => Promise<void>} Send
 */

/** @type {Record<string, Answer>} */
const ANSWERS = {
  async log ({ rows: { log, decoder } }) {
    return {
      name: log.name,
      id: log.id,
      isListed: log.isListed,
      start: log.start,
      end: log.end,
      lastSeq: log.log.since.value,
      blockSize: log.blockSize,
      checksum: log.checksum,
      large: log.large,
      encoding: decoder.encoding ?? 'json',
      encodings: decoder.encodings
    }
  },

  async records ({ rows, parameters, encoding }) {
    const { log } = rows
    const reverse = parameters.flag('reverse')
    const from = parameters.natural('from', reverse ? log.limit : log.start)
    const count = parameters.natural('count', 50, MAX_ROWS)
    const { rows: list, next, at } = await rows.list({ from, count, reverse, deleted: parameters.flag('deleted'), encoding, columns: columnsOf(parameters) })
    return { rows: list, start: log.start, end: log.end, next, at, warning: rows.decoder.warning }
  },

  async record ({ rows, parameters, encoding, gone }) {
    const { answer, json } = await rows.record(parameters.natural('seq', null), encoding, gone)
    // as it is written: parsing it would round long numbers
    return json === undefined ? answer : `${JSON.stringify(answer).slice(0, -1)},"value":${json}}`
  },

  overview: ({ rows, encoding, gone }) => overviewOf(rows, encoding, gone),
  paths: async ({ rows, encoding }) => ({ paths: await pathsOf(rows, encoding) }),

  async find ({ rows, parameters, encoding, gone }) {
    const time = parameters.text('time')
    if (time !== null) return await findTime(rows, time, encoding)
    const where = parameters.text('where')
    return where === null ? await findAt(rows, parameters.text('at') ?? '', gone) : await findValue(rows, where, encoding, gone)
  },

  async blocks ({ rows: { log }, parameters, gone }) {
    const from = parameters.natural('from', 0)
    return { from, blocks: await summaries(log, from, parameters.natural('count', MAX_BLOCKS, MAX_BLOCKS), gone) }
  },

  block: ({ rows, parameters, encoding }) => wholeBlock(rows, parameters.natural('number', null), encoding),

  // asked again and again, since a browser has six connections to a server: whatever held one would keep the seventh window waiting
  live: ({ rows: { log }, parameters, gone }) => newsSince(log, { from: parameters.natural('from', log.end), id: parameters.text('id') }, gone)
}

/** What reads all of the log: only some at a time. @type {Record<string, Send>} */
const SCANS = {
  async filter ({ rows, parameters, encoding }, response) {
    const { log } = rows
    const reverse = parameters.flag('reverse')
    const from = parameters.natural('from', reverse ? log.limit : log.start)
    const until = parameters.text('until') === null ? null : parameters.natural('until', null)
    const q = parameters.text('q') ?? ''
    // what is wrong with it is said before anything is sent
    filterOf(q, encoding)
    const columns = columnsOf(parameters)
    await stream(rows, response, events => sendFiltered(rows, events, { q, from, until, reverse, encoding, columns }))
  },

  content: ({ rows, parameters, encoding }, response) => sendContent(rows, response, { seq: parameters.natural('seq', null), form: parameters.text('form') ?? 'stored', encoding }),

  numbers: ({ rows }, response) => stream(rows, response, events => sendNumbers(rows, events)),
  verify: ({ rows }, response) => stream(rows, response, events => sendVerified(rows, events)),

  export: ({ rows, parameters, encoding }, response) => sendExport(rows, response, {
    q: parameters.text('q') ?? '',
    format: parameters.text('format') ?? 'ndjson',
    fields: parameters.text('fields')?.split(',') ?? [],
    raw: parameters.flag('raw'),
    skipCorrupt: parameters.flag('skipCorrupt'),
    encoding
  })
}

/**
 * @param {Parameters} parameters
 * @returns {string[][]} paths
 * @throws flumelog:invalid
 */
function columnsOf (parameters) {
  const columns = (parameters.text('columns')?.split(',') ?? []).map(path => path.split('.'))
  if (columns.length > MAX_COLUMNS) throw errors.invalid(`columns must be at most ${MAX_COLUMNS}`)
  if (columns.some(path => path.includes(''))) throw errors.invalid('columns must be paths separated by commas, such as at,value.author')
  return columns
}

/**
 * @param {Rows} rows
 * @param {ServerResponse} response
 * @param {(events: EventStream) => Promise<void>} send
 */
async function stream ({ log }, response, send) {
  const events = new EventStream(response)
  try {
    await send(events)
  } catch (err) {
    await events.send('failed', { code: /** @type {{ code?: string }} */ (err).code ?? 'failed', message: log.messageOf(err) })
  } finally {
    events.end()
  }
}

module.exports = { ANSWERS, SCANS }
