'use strict'

// Makes the records to store: JSON text of an exact size, the same in every run.

/** In bytes: the size of a small message. */
const RECORD_SIZE = 155
const DISTINCT = 1000
const SEQ_DIGITS = 12

/**
 * Makes records, each with its number in the property `n`.
 * @param {number} [size] bytes in each
 * @returns {(n: number) => Buffer} valid until DISTINCT more records are made
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
 * @returns {Buffer[]} DISTINCT records, so that programs do not see the same bytes all the time
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
  // if there is no room for text: padded with spaces, which JSON allows
  return size < start.length + 40 ? (start + '}').padEnd(size) : text
}

/**
 * A seeded random number generator (mulberry32), so that runs are reproducible. Numbers are in [0, 1).
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
