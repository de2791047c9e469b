'use strict'

// The paths at which records have values, for choosing columns.

/** Records that are looked at, levels, and paths that are told. */
const SAMPLES = 30
const MAX_DEPTH = 4
const MAX_PATHS = 60
/** Keys that a path can have: docs/filters.md. */
const KEY = /^[^\s()"=<>!~.,'][^\s()"=<>!~.,]*$/

/**
 * @param {import('../log/rows').Rows} rows
 * @param {string | null} encoding
 * @returns {Promise<string[]>} of the last records; the most frequent ones first
 */
async function pathsOf (rows, encoding) {
  const { found } = await rows.find({ from: rows.log.end, count: SAMPLES, reverse: true })
  /** @type {Map<string, number>} */
  const counts = new Map()
  for (const item of found) {
    if (!('seq' in item)) continue
    const { decoded } = await rows.read(item, 64 * 1024, encoding)
    collect(decoded.value, [], counts)
  }
  return [...counts].sort((a, b) => b[1] - a[1]).slice(0, MAX_PATHS).map(([path]) => path)
}

/**
 * @param {any} value
 * @param {string[]} path
 * @param {Map<string, number>} counts
 */
function collect (value, path, counts) {
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && path.length < MAX_DEPTH) {
    for (const key of Object.keys(value)) if (KEY.test(key)) collect(value[key], [...path, key], counts)
  } else if (path.length > 0) {
    const name = path.join('.')
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
}

module.exports = { pathsOf }
