// The types need those of Node.js, which TypeScript 6 and later load only where this is said.
/// <reference types="node" preserve="true" />

'use strict'

// Parts of a log, for logs that keep their records elsewhere, and for what copies a log: streams, `since`, sinks, codecs, and the checks of their options.

const { CopiedLog } = require('./lib/blocks/copied-log')
const { callAll, callBack, mustBeFunction, optional, promised } = require('./lib/callbacks')
const { codecOf, checkHighWaterMark, checkOverflow, mustBeBoolean } = require('./lib/options')
const { BatchStream } = require('./lib/read/batch-stream')
const { RECORD, WAITING, AT_END, PAST_BOUND, FAILED } = require('./lib/read/cursor')
const { NextChange: Change } = require('./lib/read/next-change')
const { OpenStreams } = require('./lib/read/open-streams')
const { scanRangeOf, streamRangeOf } = require('./lib/read/options')
const { Stream } = require('./lib/read/stream')
const { TurnBudget } = require('./lib/read/turn-budget')
const { RecordCodec } = require('./lib/record-codec')
const { replaceable } = require('./lib/replaceable')
const { mustBeSignal, onAbort } = require('./lib/signal')
const { createSince } = require('./lib/since')
const deletionRange = require('./lib/space/deletion-range')
const { sizeOf } = require('./lib/storage/buffers')
const { datasync } = require('./lib/storage/datasync')
const { nullIfMissing, syncFolder } = require('./lib/storage/directory')
const lock = require('./lib/storage/lock')
const { replaceFile, writeFile } = require('./lib/storage/whole-file')
const { formatLine, parseLine } = require('./lib/format/lines')
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
/** @type {(range: any, end: number) => { min: number, max: number }} checks it */
const deletionRangeOf = deletionRange.deletionRangeOf
/** @type {(what: unknown) => what is DeletionRange} */
const isDeletionRange = deletionRange.isDeletionRange

/** Whether files can be locked here. @type {boolean} */
const canLock = lock.canLock
/** @type {(fd: number) => boolean} takes the lock of a file, or does not */
const tryLock = lock.tryLock

/** What `next` of a cursor finds. */
const found = { RECORD, WAITING, AT_END, PAST_BOUND, FAILED }

module.exports = {
  CopiedLog,
  // streams, and what they need of a log
  Stream,
  BatchStream,
  OpenStreams,
  NextChange,
  TurnBudget,
  found,
  createSince,
  sink,
  RecordCodec,
  replaceable,
  // options, callbacks, signals
  streamRangeOf,
  scanRangeOf,
  deletionRangeOf,
  isDeletionRange,
  checkHighWaterMark,
  checkOverflow,
  mustBeBoolean,
  codecOf,
  callAll,
  callBack,
  mustBeFunction,
  optional,
  promised,
  mustBeSignal,
  onAbort,
  // files beside a log
  sizeOf,
  datasync,
  nullIfMissing,
  syncFolder,
  replaceFile,
  writeFile,
  canLock,
  tryLock,
  formatLine,
  parseLine
}
