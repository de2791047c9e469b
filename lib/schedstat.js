'use strict'

// The scheduler's account of this thread, where there is one (Linux): tells a thread that
// waited for a device from one that was ready, but had no CPU.

// not as methods of `fs`, which a test may replace
const { openSync, readSync } = require('fs')

const SPACE = 32
const ZERO = 48
const buffer = Buffer.alloc(64)
/** Opened once per thread: reading takes some 3 µs. -1: there is none. @type {number | null} */
let fd = null

/**
 * @typedef {object} Schedstat
 * @property {number} delay milliseconds for which the thread was ready, but other threads had the CPUs
 * @property {number} runs how many times it was given a CPU
 * @property {number} sleeps how many times a thread of this process left the CPU by itself; preemption does not count
 */

/** @returns {Schedstat | null} of the calling thread; null: unknown */
function schedstat () {
  fd ??= open()
  if (fd === -1) return null
  // nanoseconds on a CPU, nanoseconds of delay, runs
  const end = readSync(fd, buffer, 0, buffer.length, 0)
  const delayStart = buffer.indexOf(SPACE) + 1
  const runsStart = buffer.indexOf(SPACE, delayStart) + 1
  const runs = number(runsStart, end - 1)
  // a thread has been run, unless the kernel does not count
  return runs === 0 ? null : { delay: number(delayStart, runsStart - 1) / 1e6, runs, sleeps: process.resourceUsage().voluntaryContextSwitches }
}

function open () {
  try {
    return process.platform === 'linux' ? openSync('/proc/thread-self/schedstat', 'r') : -1
  } catch {
    return -1
  }
}

/**
 * @param {number} start of its digits in the buffer
 * @param {number} end
 */
function number (start, end) {
  let value = 0
  for (let i = start; i < end; i++) value = value * 10 + buffer[i] - ZERO
  return value
}

module.exports = { schedstat }
