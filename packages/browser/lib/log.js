'use strict'

// A log in this worker: the one of the core, over the files of OPFS.

const openFlumeLog = require('flumelog-random-access-file')
const { FlumeLog } = require('flumelog-random-access-file/promises')
const { mount, unmount } = require('./mounts')

class Log extends FlumeLog {
  /** @type {Promise<void> | null} */
  #closed = null

  /** @returns {Promise<void>} */
  close () {
    this.#closed ??= super.close().finally(() => unmount(String(this.filename)))
    return this.#closed
  }

  /**
   * @param {string} target the name of another log, which is not open
   * @param {import('flumelog-random-access-file/promises').BackupOptions} [options]
   * @returns {Promise<any>}
   */
  async backup (target, options) {
    await mount(target, false)
    try {
      return await super.backup(target, options)
    } finally {
      await unmount(target)
    }
  }
}

/**
 * @param {string} name
 * @param {any} [options]
 * @returns {Promise<Log>}
 */
async function open (name, options = {}) {
  const isShared = options.shared === true
  await mount(name, options.readOnly === true, isShared)
  try {
    // files that another worker has created cannot be opened by a synchronous call
    const log = openFlumeLog(name, isShared ? { ...options, blocking: false } : options)
    await new Promise((resolve, reject) => log.onReady((/** @type {any} */ err) => err ? reject(err) : resolve(undefined)))
    return new Log(log)
  } catch (err) {
    await unmount(name)
    throw err
  }
}

module.exports = { open }
