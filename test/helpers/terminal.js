'use strict'

// When preloaded, makes a program behave as on a terminal, and as if it took long: the clock
// advances by a second on every call.

const columns = Number(process.env.TEST_COLUMNS)

for (const stream of [process.stdout, process.stderr]) {
  Object.defineProperty(stream, 'isTTY', { value: true })
  Object.defineProperty(stream, 'columns', { value: columns })
}

const now = Date.now
let ahead = 0
Date.now = () => now() + (ahead += 1000)
