'use strict'

// The JSON interface of the page: docs/view.md in code.

const { filterOf } = require('flumelog-random-access-file/json')
const { findAt, findValue } = require('./find')
const { summaries, wholeBlock } = require('./blocks')
const { EventStream } = require('./events')
const { sendExport } = require('./export')
const { sendFiltered } = require('./filtered')
const { sendLive } = require('./live')
const { sendNumbers } = require('./numbers')
const { sendVerified } = require('./verify')

const MAX_ROWS = 200
const MAX_BLOCKS = 1024

/**
 * @typedef {import('./rows').Rows} Rows
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
      id: log.log.id,
      start: log.start,
      end: log.end,
      lastSeq: log.log.since.value,
      blockSize: log.blockSize,
      checksum: log.checksum,
      large: log.large,
      records: await log.findRecordCount(),
      encoding: decoder.encoding ?? 'json',
      encodings: decoder.encodings
    }
  },

  async records ({ rows, parameters, encoding }) {
    const { log } = rows
    const reverse = parameters.flag('reverse')
    const from = parameters.natural('from', reverse ? log.limit : log.start)
    const count = parameters.natural('count', 50, MAX_ROWS)
    const { rows: list, next } = await rows.list({ from, count, reverse, deleted: parameters.flag('deleted'), encoding })
    return { rows: list, start: log.start, end: log.end, next, warning: rows.decoder.warning }
  },

  async record ({ rows, parameters, encoding }) {
    const { answer, json } = await rows.record(parameters.natural('seq', null), encoding)
    // as it is written: parsing it would round long numbers
    return json === undefined ? answer : `${JSON.stringify(answer).slice(0, -1)},"value":${json}}`
  },

  async find ({ rows, parameters, encoding }) {
    const path = parameters.text('path')
    return path === null ? await findAt(rows, parameters.text('at') ?? '') : await findValue(rows, path, parameters.text('value') ?? '', encoding)
  },

  async blocks ({ rows: { log }, parameters, gone }) {
    const from = parameters.natural('from', 0)
    return { from, blocks: await summaries(log, from, parameters.natural('count', MAX_BLOCKS, MAX_BLOCKS), gone) }
  },

  block: ({ rows, parameters, encoding }) => wholeBlock(rows, parameters.natural('number', null), encoding)
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
    await stream(rows, response, events => sendFiltered(rows, events, { q, from, until, reverse, encoding }))
  },

  numbers: ({ rows }, response) => stream(rows, response, events => sendNumbers(rows, events)),
  verify: ({ rows }, response) => stream(rows, response, events => sendVerified(rows, events)),

  export: ({ rows, parameters, encoding }, response) => sendExport(rows, response, {
    q: parameters.text('q') ?? '',
    format: parameters.text('format') ?? 'ndjson',
    fields: parameters.text('fields')?.split(',') ?? [],
    raw: parameters.flag('raw'),
    encoding
  })
}

/** What goes on for as long as its reader stays. @type {Record<string, Send>} */
const LIVE = {
  async live ({ rows, parameters, encoding }, response) {
    const from = parameters.natural('from', rows.log.end)
    await stream(rows, response, events => sendLive(rows, events, { from, id: parameters.text('id'), encoding }))
  }
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

module.exports = { ANSWERS, SCANS, LIVE }
