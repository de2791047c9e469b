'use strict'

// FILE.mirror-id, by which a log is told from all others: a log has no name of its own. It is created when the log is mirrored for the first time.

const fs = require('fs')
const path = require('path')
const { randomUUID } = require('crypto')
const { canLock, nullIfMissing, syncFolder, tryLock, writeFile } = require('flumelog-random-access-file/parts')
const errors = require('./errors')

const SUFFIX = '.mirror-id'
const IDENTITY = /^[0-9a-f-]{36}\n$/

/**
 * @param {{ path: string | null, status: () => fs.Stats }} log that is open
 * @returns {Promise<string>}
 */
async function identityOf (log) {
  const { path: file } = log
  if (file === null) throw errors.invalid('only a log in a file can be mirrored; this one is in a storage')
  const filename = file + SUFFIX
  for (;;) {
    const text = await fs.promises.readFile(filename, 'latin1').catch(nullIfMissing)
    if (text !== null && IDENTITY.test(text)) return text.trim()
    if (text !== null) throw errors.invalid(`${filename}: not an id of a log; restore the file, or remove it, and mirror the log into another stream`)
    await create(filename, path.dirname(file), log.status())
  }
}

/** Held by one mirror of a log at a time, while it does what two must not do together. */
class MirrorLock {
  /** @param {{ path: string | null }} log that has an id */
  constructor ({ path }) {
    this.filename = path + SUFFIX
    /** When the file says that this mirror was the last one; -1: it was not. */
    this.time = -1
  }

  /**
   * @template T
   * @param {(isAnother: boolean) => Promise<T>} run given whether another mirror may have held the lock since this one did
   * @returns {Promise<T | null>} null: another mirror holds it
   */
  async whileHeld (run) {
    const file = await fs.promises.open(this.filename, 'r+')
    try {
      if (canLock && !tryLock(file.fd)) return null
      const isAnother = (await fs.promises.stat(this.filename)).mtimeMs !== this.time
      if (isAnother) await this.sign()
      return await run(isAnother)
    } finally {
      await file.close()
    }
  }

  async sign () {
    const now = new Date()
    // of a file that is another user's, it cannot be set
    const isSet = await fs.promises.utimes(this.filename, now, now).then(() => true, () => false)
    this.time = isSet ? (await fs.promises.stat(this.filename)).mtimeMs : -1
  }
}

/**
 * Whole, or not at all.
 * @param {string} filename
 * @param {string} folder
 * @param {fs.Stats} log
 */
async function create (filename, folder, log) {
  const identity = randomUUID()
  const unfinished = `${filename}.${identity}`
  await writeFile(unfinished, log, Buffer.from(`${identity}\n`))
  // another process may have created it meanwhile
  await fs.promises.link(unfinished, filename).catch((err) => { if (err.code !== 'EEXIST') throw err })
    .finally(() => fs.promises.unlink(unfinished))
  await syncFolder(folder)
}

module.exports = { identityOf, MirrorLock }
