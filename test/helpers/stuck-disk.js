'use strict'

// Preloaded, it makes a program's writes wait until it is sent SIGUSR2.

const fs = require('fs')

let held = []
// a write that is under way keeps a program alive
const alive = setInterval(() => {}, 1e6)

for (const name of ['write', 'writev']) {
  const call = fs[name]
  fs[name] = (...args) => held === null || args[3] === 0 ? call(...args) : held.push(() => call(...args))
}

// a call that blocks could not wait; what is written at an offset is then written by one that does not
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
