'use strict'

// The kernel's accounts of this thread, where there are some (Linux): they tell a thread that
// waited for a device from one that was ready, but had no CPU.

// not as methods of `fs`, which a test may replace
const { openSync, readSync } = require('fs')

const NEWLINE = 10
const SPACE = 32
const ZERO = 48
const FETCHED = '\nread_bytes: '
const SLEEPS = '\nvoluntary_ctxt_switches:\t'
const buffer = Buffer.alloc(4096)
/** Opened once per thread: to read one takes some 5 µs. null: there are none. @type {{ schedstat: number, status: number, io: number } | null | undefined} */
let files

/**
 * @typedef {object} Schedstat
 * @property {number} delay milliseconds for which the thread was ready, but other threads had the CPUs
 * @property {number} sleeps how many times it left the CPU by itself; preemption does not count
 */

/** @returns {number | null} bytes that the calling thread has caused to be fetched from devices; null: unknown */
function bytesFetched () {
  if (files === undefined) files = open()
  if (files === null) return null
  const end = readSync(files.io, buffer, 0, buffer.length, 0)
  const found = buffer.indexOf(FETCHED)
  return found === -1 || found >= end ? null : numberAt(found + FETCHED.length, NEWLINE)
}

/** @returns {Schedstat | null} of the calling thread; null: unknown */
function schedstat () {
  if (files === undefined) files = open()
  if (files === null) return null
  const statusEnd = readSync(files.status, buffer, 0, buffer.length, 0)
  const found = buffer.indexOf(SLEEPS)
  if (found === -1 || found >= statusEnd) return null
  const sleeps = numberAt(found + SLEEPS.length, NEWLINE)
  // nanoseconds on a CPU, nanoseconds of delay, and how often it was given one
  readSync(files.schedstat, buffer, 0, buffer.length, 0)
  return { delay: numberAt(buffer.indexOf(SPACE) + 1, SPACE) / 1e6, sleeps }
}

function open () {
  try {
    if (process.platform !== 'linux') return null
    const [schedstat, status, io] = ['schedstat', 'status', 'io'].map(name => openSync(`/proc/thread-self/${name}`, 'r'))
    return { schedstat, status, io }
  } catch {
    return null
  }
}

/**
 * @param {number} start of its digits in the buffer
 * @param {number} end the byte after them
 */
function numberAt (start, end) {
  let value = 0
  for (let i = start; i < buffer.length && buffer[i] !== end; i++) value = value * 10 + buffer[i] - ZERO
  return value
}

module.exports = { bytesFetched, schedstat }
