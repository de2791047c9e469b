'use strict'

// Opens logs that several processes write to. One of them owns the log, and appends what
// the others send it; see docs/processes.md.

const fs = require('fs')
const { setTimeout: pause } = require('timers/promises')
const { logBehind } = require('../lib/log-behind')
const { Address } = require('../lib/sharing/address')
const { MetadataReader } = require('../lib/storage/metadata-reader')
const { locate } = require('../lib/storage/location')
const { UserError, codeOf } = require('./errors')
const { close, openToWrite } = require('./open')

/** Milliseconds in which a process that has locked the log opens its socket, and milliseconds between two polls. */
const START_TIME = 500
const START_POLL = 25

/** @typedef {import('../lib/options').Options<Buffer>} Options */

/**
 * Opens a log to append to it, as a shared one if others share it.
 * @param {string} file
 * @param {Options} options
 * @param {boolean} [shared] default: if others share it
 * @returns {ReturnType<openToWrite>}
 */
async function openToAppend (file, options, shared) {
  if (shared ?? await isShared(file)) return openShared(file, options)
  try {
    return await openToWrite(file, options)
  } catch (err) {
    if (codeOf(err) !== 'flumelog:locked') throw err
    if (shared === false) throw new UserError(`${file}: another program has this log open for writing; close it there first, or omit --no-shared`)
    if (await becomesShared(file)) return openShared(file, options)
    throw err
  }
}

/**
 * Opens a log to change what the user has been shown of it. If another file has its place since, that stays as it is.
 * @param {string} file
 * @param {Options} options
 * @param {import('./open').Held} held of the file that was shown
 * @param {string} otherwise what is said then: that nothing was done
 * @returns {ReturnType<openToWrite>}
 */
async function openShown (file, options, held, otherwise) {
  const replaced = () => new UserError(`${file}: another file has taken its place meanwhile, as by a restore or a compaction; ${otherwise}`)
  // none is created
  if (!await isHeld(held, fs.statSync(file, { throwIfNoEntry: false }))) throw replaced()
  const log = await openToAppend(file, options)
  if (await isHeld(held, logBehind(log)?.file.status())) return log
  await close(log)
  throw replaced()
}

/**
 * @param {import('./open').Held} held
 * @param {fs.Stats} [found]
 */
async function isHeld (held, found) {
  const { dev, ino } = await held.stat()
  return found !== undefined && found.dev === dev && found.ino === ino
}

/**
 * Opens a log as its owner, or as a client of the process that owns it.
 * @param {string} file
 * @param {Options} options
 * @param {boolean} [quiet] does not say what recovery has truncated
 * @returns {ReturnType<openToWrite>}
 */
async function openShared (file, options, quiet) {
  try {
    return await openToWrite(file, { ...options, shared: true }, quiet)
  } catch (err) {
    const code = codeOf(err)
    if (code === 'flumelog:unreachable') throw new UserError(`${file}: the process that owns this log does not answer; check whether it is stopped, and end it if it hangs`)
    if (code === 'flumelog:no-lock') throw new UserError(`${/** @type {Error} */ (err).message}; use --no-shared if no other program has it open`)
    throw err
  }
}

/**
 * @param {string} file
 * @returns {Promise<boolean>} whether a process shares this log, or shared it and did not close it
 */
async function isShared (file) {
  const { path } = locate(file, true)
  const address = new Address(path)
  // the clients of an owner that is gone: one of them is about to become the owner
  const metadata = await new MetadataReader(`${path}.meta`).read()
  if (metadata !== null && Object.keys(metadata.metadata.clients).length > 0) return true
  if (process.platform === 'win32') return await answers(address)
  const found = await fs.promises.lstat(address.name).catch(() => null)
  return found !== null && found.isSocket()
}

/** @param {Address} address of a named pipe, which is there only as long as its process */
async function answers (address) {
  const socket = await address.connect().catch(() => null)
  socket?.destroy()
  return socket !== null
}

/**
 * @param {string} file that another process has locked
 * @returns {Promise<boolean>} whether that process shares it
 */
async function becomesShared (file) {
  for (let waited = 0; waited < START_TIME; waited += START_POLL) {
    if (await isShared(file)) return true
    await pause(START_POLL)
  }
  return false
}

module.exports = { openToAppend, openShown, openShared, isShared }
