'use strict'

// Files beside a log: who can read the log has to be able to read them.

const fs = require('fs')
const { promisify } = require('util')
const { isRoot } = require('./user')

const fchmod = promisify(fs.fchmod)
const fchown = promisify(fs.fchown)

/**
 * Gives an open file the log's mode, whatever the umask, and its owner and group, as far as this process may give them.
 * @param {number} fd
 * @param {fs.Stats} log
 */
async function shareAsLog (fd, { mode, uid, gid }) {
  // some file systems have no owners, or no modes; then there is nothing to give
  await fchown(fd, isRoot() ? uid : -1, gid).catch(() => {})
  await fchmod(fd, mode & 0o777).catch(() => {})
}

module.exports = { shareAsLog }
