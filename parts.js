// The types need those of Node.js, which TypeScript 6 and later load only where this is said.
/// <reference types="node" preserve="true" />

'use strict'

// The parts of a log, for a package that is a log itself: over this one, with an index of its own, or over records that are kept elsewhere.

const { checkAfter: checkCondition } = require('./lib/appending')
const { DirectLog } = require('./lib/direct/direct-log')
const { observable } = require('./lib/observable')
const { settingsOf: settingsOfOptions } = require('./lib/options')
const { BatchStream } = require('./lib/read/batch-stream')
const { RECORD, WAITING, AT_END, PAST_BOUND, FAILED } = require('./lib/read/cursor')
const { NextChange: Change } = require('./lib/read/next-change')
const { OpenStreams } = require('./lib/read/open-streams')
const { scanRangeOf, streamRangeOf } = require('./lib/read/options')
const { Stream } = require('./lib/read/stream')
const { TurnBudget } = require('./lib/read/turn-budget')
const { RecordCodec } = require('./lib/record-codec')
const { replaceable } = require('./lib/replaceable')
const { createSince } = require('./lib/since')
const { deletionRangeOf: rangeOfDeletion } = require('./lib/space/deletion')
const { sink: startSink } = require('./lib/write/sink')

/**
 * @typedef {import('./lib/errors').LogError} LogError
 * @typedef {import('./lib/errors').SystemError} SystemError
 * @typedef {import('./lib/errors').CallbackError} CallbackError
 * @typedef {import('./lib/errors').ErrorCode} ErrorCode
 * @typedef {import('./lib/read/cursor').Cursor} Cursor
 * @typedef {import('./lib/read/options').Range} Range
 * @typedef {import('./lib/read/search').Compare} Compare
 * @typedef {import('./lib/read/stream').ReadContext} ReadContext
 * @typedef {import('./lib/space/types').DeletionRange} DeletionRange
 * @typedef {import('./lib/types').Count} Count
 * @typedef {import('./lib/types').Done} Done
 * @typedef {import('./lib/types').OnRecord} OnRecord
 * @typedef {import('./lib/types').Since} Since
 */

/**
 * @template I
 * @typedef {import('./lib/read/source').Source<I>} Source
 */

// typed here: their declarations name what is inside the log
/** @type {(log: any, options: any, cb?: any) => any} the sink of a pull-stream */
const sink = startSink
/** @type {new (log: any, cb: (err: any, seq?: any) => void) => { start: () => void, finish: (err: any) => void, cancel: () => void }} waits for `since` */
const NextChange = /** @type {any} */ (Change)
/** @type {(options: any) => { codec: import('./lib/options').Codec<any>, highWaterMark: number, readOnly: boolean }} checks them */
const settingsOf = settingsOfOptions
/** @type {(range: any, end: number) => { min: number, max: number }} checks it */
const deletionRangeOf = rangeOfDeletion

/** @type {(value: any, after: any) => void} checks the condition of an append */
const checkAfter = checkCondition

/** The results of a cursor's `next`. */
const found = { RECORD, WAITING, AT_END, PAST_BOUND, FAILED }

module.exports = {
  DirectLog,
  found,
  // streams, and what they need of a log
  Stream,
  BatchStream,
  OpenStreams,
  TurnBudget,
  // the other members of a log
  NextChange,
  createSince,
  observable,
  replaceable,
  sink,
  RecordCodec,
  // options, checked as those of a log in a file
  settingsOf,
  checkAfter,
  streamRangeOf,
  scanRangeOf,
  deletionRangeOf
}
