'use strict'

// How far something is, drawn on stderr if that is a terminal, and if it takes long
// enough to be worth it.

const { count, size } = require('./numbers')

/** Milliseconds before anything is drawn. */
const PATIENCE = 300
const MAX_BAR = 40
/** Columns left free, so that the ^C a terminal shows does not begin a new line. */
const MARGIN = 5

/**
 * @typedef {object} Progress
 * @property {(done: number, total?: number) => void} update
 * @property {() => void} stop nothing is left of it on the screen
 */

/** @type {Progress} */
const INVISIBLE = { update () {}, stop () {} }

/**
 * Bytes of a known number of bytes, as a bar.
 * @param {string} verb
 * @returns {Progress}
 */
function byteProgress (verb) {
  return progress((done, total, seconds, width) => {
    const share = total === 0 ? 1 : Math.min(1, done / total)
    const left = share === 0 ? '' : `${duration(seconds / share - seconds)} left`
    const tail = ` ${String(Math.floor(share * 100)).padStart(3)}%  ${size(done)} of ${size(total)}  ${left}`
    return `${verb} ${bar(share, Math.min(MAX_BAR, width - verb.length - tail.length - MARGIN))}${tail}`
  })
}

/**
 * Records of an unknown number, with their rate.
 * @param {string} verb
 * @returns {Progress}
 */
function recordProgress (verb) {
  return progress((done, total, seconds) => {
    return `${verb} ${count(done)} records  ${count(seconds === 0 ? 0 : done / seconds)} records/s  ${duration(seconds)}`
  })
}

/**
 * @param {(done: number, total: number, seconds: number, width: number) => string} format
 * @returns {Progress}
 */
function progress (format) {
  if (!process.stderr.isTTY) return INVISIBLE
  // only here, since most runs need none
  const { SingleBar } = require('cli-progress')
  const begun = Date.now()
  let drawn = false
  const bar = new SingleBar({
    stream: process.stderr,
    clearOnComplete: true,
    linewrap: true,
    format: (/** @type {object} */ _, /** @type {{ value: number, total: number, maxWidth: number }} */ { value, total, maxWidth }) =>
      format(value, total, (Date.now() - begun) / 1000, maxWidth)
  })
  return {
    update (done, total = 0) {
      if (drawn) return bar.update(done)
      if (Date.now() - begun < PATIENCE) return
      drawn = true
      bar.start(total, done)
    },
    stop () {
      bar.stop()
    }
  }
}

/**
 * @param {number} share from 0 to 1
 * @param {number} width
 */
function bar (share, width) {
  if (width < 4) return ''
  const full = Math.round(share * width)
  return '█'.repeat(full) + '░'.repeat(width - full)
}

/**
 * @param {number} seconds
 * @returns {string} 5 s, 2 min 5 s
 */
function duration (seconds) {
  const whole = Math.round(seconds)
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`
}

module.exports = { byteProgress, recordProgress }
