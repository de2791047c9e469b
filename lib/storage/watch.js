'use strict'

// Notices that a file has changed.

const fs = require('fs')

/** How often a file is looked at where the system cannot tell of changes. */
const POLL_INTERVAL = 50

/**
 * @typedef {{ hold: () => void, release: () => void, stop: () => void }} Watch
 *   between hold and release, watching keeps the process alive
 */

/**
 * Tells of changes of a file: by events, where the system has them, and by looking
 * while somebody waits, since events can be missed.
 * @param {string} filename
 * @param {() => void} onchange
 * @returns {Watch}
 */
function watch (filename, onchange) {
  /** @type {fs.FSWatcher | undefined} */
  let watcher
  /** @type {NodeJS.Timeout | undefined} */
  let idlePoll
  /** @type {NodeJS.Timeout | undefined} */
  let heldPoll

  function withoutEvents () {
    watcher?.close()
    watcher = undefined
    idlePoll = setInterval(onchange, POLL_INTERVAL).unref()
  }

  try {
    watcher = fs.watch(filename, { persistent: false }, onchange)
    watcher.on('error', withoutEvents)
  } catch {
    withoutEvents()
  }

  return {
    hold: () => { heldPoll ??= setInterval(onchange, POLL_INTERVAL) },
    release: () => {
      clearInterval(heldPoll)
      heldPoll = undefined
    },
    stop: () => {
      watcher?.close()
      clearInterval(idlePoll)
      clearInterval(heldPoll)
    }
  }
}

module.exports = { watch }
