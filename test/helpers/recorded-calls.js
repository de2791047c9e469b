'use strict'

// Runs a program and records what it asks of the system that changes files, by wrapping the module `fs` in it.

const fs = require('fs')
const path = require('path')
const { spawnSync } = require('child_process')
const { preloading } = require('./runtime')

const PRELOAD = path.join(__dirname, 'programs', 'record-calls.js')
/**
 * The start or the end of a call. A call's effect comes at some moment between the two.
 * @typedef {object} CallEvent
 * @property {number} id of the call
 * @property {string} [start] its name: open, close, write, ftruncate, fsync, rename, link, unlink or mkdir
 * @property {string} [end]
 * @property {number} [fd]
 * @property {string} [path]
 * @property {string} [from] of a rename or link
 * @property {boolean} [creates] of an open
 * @property {boolean} [empties] of an open
 * @property {Buffer} [data] of a write
 * @property {number | null} [offset] of a write; null: behind the one before
 * @property {number} [size] of a ftruncate
 * @property {number} [result] of an end: a descriptor, or bytes written; -1: it failed
 */

/**
 * @param {string[]} args of node
 * @param {string} output a file for the record
 * @returns {CallEvent[]}
 */
function record (args, output) {
  const { status, stderr } = spawnSync(process.execPath, [...preloading([PRELOAD]), ...args], { env: { ...process.env, CALLS_FILE: output }, encoding: 'utf8', maxBuffer: 2 ** 28 })
  if (status !== 0) throw new Error(`${args[0]} ended with ${status}: ${stderr}`)
  return JSON.parse(fs.readFileSync(output, 'utf8')).map(normalized)
}

/** What the preloaded program wrote. */
function normalized ({ start, end, flags, data, ...event }) {
  const name = { writev: 'write', fdatasync: 'fsync' }
  if (end !== undefined) return { ...event, end: name[end] ?? end }
  const bits = typeof flags === 'number' ? flags : { r: 0, 'r+': 0 }[flags] ?? fs.constants.O_CREAT | (/^w/.test(flags) ? fs.constants.O_TRUNC : 0)
  return {
    ...event,
    start: name[start] ?? start,
    ...start === 'open' ? { creates: (bits & fs.constants.O_CREAT) !== 0, empties: (bits & fs.constants.O_TRUNC) !== 0 } : {},
    ...data === undefined ? {} : { data: Buffer.from(data, 'base64') },
    ...event.offset === undefined && data !== undefined ? { offset: null } : {}
  }
}

module.exports = { record }
