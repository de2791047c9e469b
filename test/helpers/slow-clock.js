'use strict'

// When preloaded, makes a program believe that it takes long: the clock advances by a second
// on every call.

const now = Date.now
let ahead = 0
Date.now = () => now() + (ahead += 1000)
