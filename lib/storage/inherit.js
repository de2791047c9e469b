'use strict'

// What a file beside the log, or in its place, inherits from it: the owner and the group, as far as this process may give them, and the
// mode, whatever the umask. If the group cannot be given, nobody gets more than they had: the members of the log's group now count as
// others and those of another group as the group, so both get what both had. All of it is best effort, since some file systems have no
// owners or no modes: a file must be created so that only this user can read it.

const fs = require('fs')
const { promisify } = require('util')
const { isRoot } = require('./user')

const fchmod = promisify(fs.fchmod)
const fchown = promisify(fs.fchown)
const fstat = promisify(fs.fstat)

/**
 * @param {fs.Stats} log
 * @param {fs.Stats} file
 * @returns {number} the permissions that the file may have
 */
function inheritedMode ({ mode, gid }, file) {
  if (file.gid === gid) return mode & 0o777
  const common = (mode >> 3) & mode & 0o7
  return (mode & 0o700) | (common << 3) | common
}

/**
 * @param {number} fd
 * @param {fs.Stats} log
 */
async function inherit (fd, log) {
  await fchown(fd, isRoot() ? log.uid : -1, log.gid).catch(() => {})
  await fchmod(fd, inheritedMode(log, await fstat(fd))).catch(() => {})
}

/**
 * @param {number} fd
 * @param {fs.Stats} log
 */
function inheritSync (fd, log) {
  try {
    fs.fchownSync(fd, isRoot() ? log.uid : -1, log.gid)
  } catch {}
  try {
    fs.fchmodSync(fd, inheritedMode(log, fs.fstatSync(fd)))
  } catch {}
}

/**
 * For a file whose owner is who writes it, as a copy of the log under a name of the caller's.
 * @param {string} name
 * @param {fs.Stats} log
 */
async function inheritMode (name, log) {
  await fs.promises.chmod(name, inheritedMode(log, await fs.promises.stat(name))).catch(() => {})
}

module.exports = { inherit, inheritMode, inheritSync, inheritedMode }
