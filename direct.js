// The types need those of Node.js, which TypeScript 6 and later load only where this is said.
/// <reference types="node" preserve="true" />

'use strict'

// A log whose appends return seqs and whose reads are answered in the call, for programs that keep their own index of it, as jitdb does.

const { callAll, optional, rethrowLater } = require('./lib/callbacks')
const { DirectLog } = require('./lib/direct/direct-log')
const { observable } = require('./lib/observable')
const { RECORD, WAITING, AT_END, PAST_BOUND, FAILED } = require('./lib/read/cursor')
const { rangeOf } = require('./lib/read/options')
const { CHECK_INTERVAL } = require('./lib/read/turn-budget')
const { syncFolder } = require('./lib/storage/directory')
const { warnNotOpened } = require('./lib/warn-not-opened')
const { connect } = require('./lib/wrappers/push-source')

/**
 * @typedef {import('./lib/errors').LogError} LogError
 * @typedef {import('./lib/errors').SystemError} SystemError
 * @typedef {import('./lib/errors').CallbackError} CallbackError
 * @typedef {import('./lib/errors').ErrorCode} ErrorCode
 * @typedef {import('./lib/read/cursor').Cursor} Cursor
 */

/** What `next` of a cursor finds. */
const found = { RECORD, WAITING, AT_END, PAST_BOUND, FAILED }

module.exports = { DirectLog, found, CHECK_INTERVAL, rangeOf, connect, callAll, observable, optional, rethrowLater, syncFolder, warnNotOpened }
