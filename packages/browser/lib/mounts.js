'use strict'

// The volumes that logs of this worker have open.

const { mountShared } = require('./shared-volume')
const { Volume } = require('./volume')
const { failure, locked } = require('./errors')

/** By the name of the log, with the number of logs that use each. @type {Map<string, { volume: Promise<Volume>, mounted: Volume | null, users: number }>} */
const volumes = new Map()
/** Settled when the files of a log, by its name, are closed. @type {Map<string, Promise<void>>} */
const closing = new Map()

/**
 * Opens the files of a log, unless they are open in this worker.
 * @param {string} name
 * @param {boolean} mustExist
 * @param {boolean} [isShared] whether other workers may have them open, too
 * @returns {Promise<Volume>}
 */
async function mount (name, mustExist, isShared = false) {
  while (closing.has(name)) await closing.get(name)
  let found = volumes.get(name)
  if (found === undefined) volumes.set(name, found = { volume: isShared ? mountShared(name) : Volume.mount(name, mustExist), mounted: null, users: 0 })
  found.users++
  try {
    found.mounted = await found.volume
  } catch (err) {
    volumes.delete(name)
    throw err
  }
  if (!isShared || found.mounted.isShared) return found.mounted
  await unmount(name)
  throw locked(name)
}

/**
 * Opens the files of a log that is closed.
 * @param {string} name
 * @returns {Promise<Volume>}
 * @throws ENOENT, flumelog:locked
 */
async function mountClosed (name) {
  while (closing.has(name)) await closing.get(name)
  if (volumes.has(name)) throw locked(name)
  const volume = await mount(name, true)
  if (volume.inodes.has(name)) return volume
  // an import or a backup that was interrupted: nothing of it stays
  await unmount(name)
  throw failure('ENOENT', 'open', name)
}

/** @param {string} name of a log that was mounted */
async function unmount (name) {
  const found = /** @type {{ mounted: Volume, users: number }} */ (volumes.get(name))
  if (--found.users > 0) return
  volumes.delete(name)
  const closed = found.mounted.unmount().finally(() => closing.delete(name))
  closing.set(name, closed.catch(() => {}))
  await closed
}

module.exports = { volumes, mount, mountClosed, unmount }
