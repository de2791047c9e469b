'use strict'

// Runs a program and records what it asks of the system that changes files: by strace,
// or by wrapping the module `fs` in it.

const fs = require('fs')
const path = require('path')
const { spawnSync } = require('child_process')
const { preloading } = require('./runtime')

const CALLS = ['open', 'openat', 'creat', 'close', 'write', 'pwrite64', 'writev', 'pwritev', 'pwritev2', 'ftruncate', 'fsync', 'fdatasync', 'rename', 'renameat', 'renameat2', 'link', 'linkat', 'unlink', 'unlinkat', 'mkdir', 'mkdirat']
const PRELOAD = path.join(__dirname, 'programs', 'record-calls.js')
/** Of a write of no bytes, strace shows an address. */
const NOTHING = Buffer.alloc(0)

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

/** @returns {boolean} */
function hasStrace () {
  return spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0
}

/**
 * @param {string[]} args of node
 * @param {{ strace: boolean, output: string }} options output: a file for the record
 * @returns {CallEvent[]}
 */
function record (args, { strace, output }) {
  const [command, ...all] = strace
    ? ['strace', '-f', '-qq', '-xx', '-s', '1000000', '-e', `trace=${CALLS}`, '-o', output, process.execPath, ...args]
    : [process.execPath, ...preloading([PRELOAD]), ...args]
  const { status, stderr } = spawnSync(command, all, { env: { ...process.env, CALLS_FILE: output }, encoding: 'utf8', maxBuffer: 2 ** 28 })
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr}`)
  const text = fs.readFileSync(output, 'utf8')
  return strace ? parseStrace(text) : JSON.parse(text).map(normalized)
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

/** @param {string} text of `strace -f -xx` */
function parseStrace (text) {
  /** @type {CallEvent[]} */
  const events = []
  const unfinished = new Map()
  let calls = 0
  for (const line of text.split('\n')) {
    const [, thread, rest] = /^(\d+) +(.*)$/.exec(line) ?? []
    if (rest === undefined) continue
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)
    const whole = resumed ? unfinished.get(thread).text + resumed[1] : rest
    const [, name, inside] = /^(\w+)\((.*)$/s.exec(whole) ?? []
    if (name === undefined) continue
    if (whole.endsWith('<unfinished ...>')) {
      const id = ++calls
      unfinished.set(thread, { id, text: whole.slice(0, -'<unfinished ...>'.length) })
      events.push({ id, ...callOf(name, inside.replace(/ ?<unfinished \.\.\.>$/, '')) })
      continue
    }
    const [, args, result] = /^(.*)\) += (-?\d+|\?)/s.exec(inside)
    const call = callOf(name, args)
    const id = resumed ? unfinished.get(thread).id : ++calls
    if (!resumed) events.push({ id, ...call })
    events.push({ id, end: call.start, result: Number(result) })
  }
  return events
}

/**
 * @param {string} name
 * @param {string} args as strace writes them
 */
function callOf (name, args) {
  const strings = [...args.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, hex]) => Buffer.from(hex.replaceAll('\\x', ''), 'hex'))
  const numbers = args.replace(/"[^"]*"/g, '').split(',').map(part => part.trim())
  const fd = Number(numbers[0])
  const paths = strings.map(bytes => bytes.toString())
  if (/^open|^creat/.test(name)) return { start: 'open', path: paths[0], creates: /O_CREAT/.test(args) || name === 'creat', empties: /O_TRUNC/.test(args) || name === 'creat' }
  if (name === 'close') return { start: 'close', fd }
  if (name === 'write') return { start: 'write', fd, data: strings[0] ?? NOTHING, offset: null }
  if (name === 'writev') return { start: 'write', fd, data: Buffer.concat(strings), offset: null }
  if (name === 'pwrite64') return { start: 'write', fd, data: strings[0] ?? NOTHING, offset: Number(numbers.at(-1)) }
  if (/^pwritev/.test(name)) return { start: 'write', fd, data: Buffer.concat(strings), offset: Number(numbers.at(name === 'pwritev2' ? -2 : -1)) }
  if (name === 'ftruncate') return { start: 'ftruncate', fd, size: Number(numbers[1]) }
  if (/sync$/.test(name)) return { start: 'fsync', fd }
  if (/^rename/.test(name)) return { start: 'rename', from: paths[0], path: paths[1] }
  if (/^link/.test(name)) return { start: 'link', from: paths[0], path: paths[1] }
  if (/^unlink/.test(name)) return { start: 'unlink', path: paths[0] }
  return { start: 'mkdir', path: paths[0] }
}

module.exports = { record, hasStrace }
