'use strict'

// Makes a program behave as on a terminal, and as if it took long: the clock advances by a second on every call. When preloaded, the whole
// program, on one of $TEST_COLUMNS columns.

const date = Date.now
const now = performance.now.bind(performance)

/** @param {number | undefined} columns of the terminal; undefined: there is none */
function showOn (columns) {
  for (const stream of [process.stdout, process.stderr]) {
    Object.defineProperty(stream, 'isTTY', { value: columns !== undefined, configurable: true })
    Object.defineProperty(stream, 'columns', { value: columns, configurable: true })
  }
  let ahead = 0
  const slow = (/** @type {() => number} */ clock) => columns === undefined ? clock : () => clock() + (ahead += 1000)
  Date.now = slow(date)
  performance.now = slow(now)
}

if (process.env.TEST_COLUMNS !== undefined) showOn(Number(process.env.TEST_COLUMNS))

module.exports = { showOn }
