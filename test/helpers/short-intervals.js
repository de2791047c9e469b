'use strict'

// When preloaded, what is done at intervals is done all the time.

const { setInterval } = globalThis
globalThis.setInterval = (run, delay, ...args) => setInterval(run, 0, ...args)
