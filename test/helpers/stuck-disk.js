'use strict'

// When preloaded, makes the writes of a program wait until it receives SIGUSR2.

const fs = require('fs')

let held = []
// a write in progress keeps a program alive
const alive = setInterval(() => {}, 1e6)

for (const name of ['write', 'writev']) {
  const call = fs[name]
  fs[name] = (...args) => held === null || args[3] === 0 ? call(...args) : held.push(() => call(...args))
}

// a synchronous call could not wait, so writes at an offset use the asynchronous one
for (const [name, offset] of [['writeSync', 4], ['writevSync', 2]]) {
  const call = fs[name]
  fs[name] = (...args) => {
    if (held === null || typeof args[offset] !== 'number') return call(...args)
    throw new Error('it would block')
  }
}

process.once('SIGUSR2', () => {
  const calls = held
  held = null
  clearInterval(alive)
  for (const call of calls) call()
})
