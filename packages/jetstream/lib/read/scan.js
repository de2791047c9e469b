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
  const { last_seq: last } = await reader.refresh()
  const least = Math.max(min, 1)
  const most = Math.min(max, last)
  for (let from = least, to = most; from <= to;) {
    const first = reverse ? Math.max(from, to - WINDOW + 1) : from
    const { records, next } = await reader.range(first, reverse ? to : Math.min(to, from + WINDOW - 1))
    for (const { seq, data } of reverse ? records.reverse() : records) if (call(onRecord, data, seq) === false) return
    if (reverse) to = first - 1
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
