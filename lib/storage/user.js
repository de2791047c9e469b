'use strict'

/** Whether this process may give files to other users. Deno may deny it the number of its user. */
function isRoot () {
  try {
    return process.getuid?.() === 0
  } catch {
    return false
  }
}

module.exports = { isRoot }
