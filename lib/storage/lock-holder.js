'use strict'

// The process that has locked a file, for the message of an error. A lock belongs to an open file, so /proc/locks names no process: those
// whose open files can be seen, of the same user, are searched for the one with the lock.

const fs = require('fs')

/**
 * @param {number} fd of the file, without the lock
 * @returns {number | null} the process id; null: it cannot be known here
 */
function lockHolder (fd) {
  // Deno would ask for permission
  if (process.platform !== 'linux' || process.versions.deno !== undefined) return null
  try {
    const file = fs.readlinkSync(`/proc/self/fd/${fd}`)
    const holder = fs.readdirSync('/proc').find(name => /^\d+$/.test(name) && hasLocked(name, file))
    return holder === undefined ? null : Number(holder)
  } catch {
    // there is no /proc, or it may not be read
    return null
  }
}

/**
 * @param {string} pid
 * @param {string} file
 */
function hasLocked (pid, file) {
  try {
    return fs.readdirSync(`/proc/${pid}/fd`).some(fd => isLink(`/proc/${pid}/fd/${fd}`, file) && /^lock:.* WRITE /m.test(fs.readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'latin1')))
  } catch {
    // another user's, or it has ended
    return false
  }
}

/**
 * @param {string} link
 * @param {string} target
 */
function isLink (link, target) {
  try {
    return fs.readlinkSync(link) === target
  } catch {
    // closed meanwhile
    return false
  }
}

module.exports = { lockHolder }
