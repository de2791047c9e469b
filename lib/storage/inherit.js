'use strict'

// A file beside a log, or one that takes its place, inherits the log's mode, owner and group: who may use the log may use it, and nobody
// else, whatever the umask.

const fs = require('fs')

/** Bits of a mode: what the owner may do, and what everybody may who is neither the owner nor in the group. */
const OWNER = 0o700
const OTHERS = 0o007

/**
 * @param {number} fd of an open file
 * @param {fs.Stats} log
 */
function inherit (fd, log) {
  give(log, {
    chown: (uid, gid) => fs.fchownSync(fd, uid, gid),
    groupOf: () => fs.fstatSync(fd).gid,
    chmod: (mode) => fs.fchmodSync(fd, mode)
  })
}

/**
 * The same for what cannot be opened, as a socket.
 * @param {string} name which nobody else can replace meanwhile
 * @param {fs.Stats} log
 */
function inheritByName (name, log) {
  give(log, {
    chown: (uid, gid) => fs.lchownSync(name, uid, gid),
    groupOf: () => fs.lstatSync(name).gid,
    chmod: (mode) => fs.chmodSync(name, mode)
  })
}

/**
 * The mode alone, for a copy of the log under another name: its owner is who makes it.
 * @param {string} name
 * @param {fs.Stats} log
 */
function inheritMode (name, log) {
  quietly(() => fs.chmodSync(name, modeFor(log, fs.statSync(name).gid)))
}

/**
 * The owner and the mode one after the other: a process that may not give the file to the log's group can still give it a mode.
 * @param {fs.Stats} log
 * @param {{ chown: (uid: number, gid: number) => void, groupOf: () => number, chmod: (mode: number) => void }} file
 */
function give ({ mode, uid, gid }, file) {
  // some file systems have no owners, or no modes; then there is nothing to inherit
  quietly(() => file.chown(isRoot() ? uid : -1, gid))
  quietly(() => file.chmod(modeFor({ mode, gid }, file.groupOf())))
}

/**
 * If the file has another group than the log, members of the log's group are among all others there, and the other way round: both may do
 * what both may do with the log.
 * @param {{ mode: number, gid: number }} log
 * @param {number} group of the file
 * @returns {number}
 */
function modeFor ({ mode, gid }, group) {
  if (group === gid) return mode & 0o777
  const common = (mode >> 3) & mode & OTHERS
  return (mode & OWNER) | (common << 3) | common
}

/** @param {() => void} call that may be refused */
function quietly (call) {
  try {
    call()
  } catch {}
}

/** Whether this process may give files to other users. Deno may deny it the number of its user. */
function isRoot () {
  try {
    return process.getuid?.() === 0
  } catch {
    return false
  }
}

module.exports = { inherit, inheritByName, inheritMode }
