'use strict'

// Runs functions in the next turn of the event loop, in order: as a message, since timers wait for some milliseconds.

/** @type {Array<(() => void) | null>} */
let waiting = []
const { port1, port2 } = new MessageChannel()

port2.onmessage = () => {
  const due = waiting
  waiting = []
  let run = 0
  try {
    while (run < due.length) due[run++]?.()
  } finally {
    // if one throws, the others run in the next turn
    if (run < due.length) {
      waiting = [...due.slice(run), ...waiting]
      port1.postMessage(null)
    }
  }
}

/** @param {() => void} run */
function later (run) {
  if (waiting.length === 0) port1.postMessage(null)
  waiting.push(run)
}

module.exports = { later }
