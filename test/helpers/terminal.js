'use strict'

// Preloaded, it makes a program believe that it prints on a terminal, and that what
// it does takes long: a second passes whenever it looks at the clock.

const columns = Number(process.env.TEST_COLUMNS)

for (const stream of [process.stdout, process.stderr]) {
  Object.defineProperty(stream, 'isTTY', { value: true })
  Object.defineProperty(stream, 'columns', { value: columns })
}

const now = Date.now
let ahead = 0
Date.now = () => now() + (ahead += 1000)
