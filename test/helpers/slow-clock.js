'use strict'

// When preloaded, makes a program believe that it takes long: the clock advances by a second
// on every call. The date is set back by an hour after it was asked for first.

const { now } = performance
const date = Date.now
let ahead = 0
let behind = 0
performance.now = () => now.call(performance) + (ahead += 1000)
Date.now = () => {
  const found = date() + (ahead += 1000) - behind
  behind = 3600_000
  return found
}
