'use strict'

// Calls a function with the bytes of each record, without decoding them.

const errors = require('../errors')

/** Sequences that are read at a time. */
const WINDOW = 1024

/**
 * @param {import('./reader').Reader} reader
 * @param {import('flumelog-random-access-file/parts').Range} range
 * @param {import('flumelog-random-access-file/parts').OnRecord} onRecord
 */
async function scan (reader, { min, max, reverse }, onRecord) {
  const { first_seq: start, last_seq: last } = await reader.refresh()
  // what is purged is not looked through
  const least = Math.max(min, start, 1)
  const most = Math.min(max, last)
  for (let from = least, to = most; from <= to;) {
    const { records, next } = reverse
      ? await reader.rangeBackward(Math.max(from, to - WINDOW + 1), to)
      : await reader.range(from, Math.min(to, from + WINDOW - 1))
    for (const { seq, data } of records) if (call(onRecord, data, seq) === false) return
    if (reverse) to = next
    else from = next
  }
}

/**
 * @param {import('flumelog-random-access-file/parts').OnRecord} onRecord
 * @param {Buffer} data
 * @param {number} seq
 */
function call (onRecord, data, seq) {
  try {
    return onRecord(data, 0, data.length, seq)
  } catch (thrown) {
    throw errors.thrown('onRecord', thrown)
  }
}

module.exports = { scan }
