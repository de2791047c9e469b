'use strict'

// The records that are stored: JSON text of an exact size, the same in every run.

/** Bytes of an average record in the benchmarks; what a small message weighs. */
const RECORD_SIZE = 155
const DISTINCT = 1000
const SEQ_DIGITS = 12

/**
 * Makes records one after the other; each has its number in the property `n`.
 * @param {number} [size] bytes in each
 * @returns {(n: number) => Buffer} valid until the record DISTINCT later is made
 */
function recordMaker (size = RECORD_SIZE) {
  const made = distinctRecords(size)
  return (n) => {
    const record = made[n % DISTINCT]
    let left = n
    for (let at = '{"n":'.length + SEQ_DIGITS - 1; left > 0; at--) {
      record[at] = 48 + left % 10
      left = Math.floor(left / 10)
    }
    return record
  }
}

/**
 * @param {number} [size] bytes in each
 * @returns {Buffer[]} so many that a program does not meet the same bytes all the time
 */
function distinctRecords (size = RECORD_SIZE) {
  const random = randomNumbers(1)
  return Array.from({ length: DISTINCT }, (_, n) => Buffer.from(recordText(n, size, random)))
}

/**
 * @param {number} n
 * @param {number} size
 * @param {() => number} random
 */
function recordText (n, size, random) {
  const start = `{"n":${String(n).padStart(SEQ_DIGITS)}`
  let filling = `,"random":${random().toFixed(16)},"text":"`
  while (filling.length < size) filling += Math.floor(random() * 2 ** 32).toString(36)
  const text = start + filling.slice(0, size - start.length - 2) + '"}'
  // what is too small for any text is padded, which JSON allows
  return size < start.length + 40 ? (start + '}').padEnd(size) : text
}

/**
 * A small generator of numbers in [0, 1), so that runs can be repeated (mulberry32).
 * @param {number} seed
 */
function randomNumbers (seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

module.exports = { RECORD_SIZE, recordMaker, distinctRecords, randomNumbers }
