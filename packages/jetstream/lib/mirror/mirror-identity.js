'use strict'

// FILE.mirror-id, by which a log is told from all others: a log has no name of its own. It is created when the log is mirrored for the first time.

const fs = require('fs')
const { randomUUID } = require('crypto')
const { files } = require('flumelog-random-access-file/blocks')
const errors = require('../errors')

const SUFFIX = '.mirror-id'
/** Milliseconds to which a file system may round the time of a file. */
const LEAST_STEP = 2000
const IDENTITY = /^[0-9a-f-]{36}\n$/

/**
 * @param {{ path: string, status: () => fs.Stats }} log that is open
 * @returns {Promise<string>}
 */
async function identityOf (log) {
  for (;;) {
    const identity = await readIdentity(log)
    if (identity !== null) return identity
    await create(log.path + SUFFIX, log.status())
  }
}

/**
 * @param {{ path: string }} log that is open
 * @returns {Promise<string | null>} null: it was never mirrored
 */
async function readIdentity ({ path }) {
  const filename = path + SUFFIX
  const text = await readIfThere(filename)
  if (text !== null && !IDENTITY.test(text)) throw errors.invalid(`${filename}: not an id of a log; restore the file, or remove it, and mirror the log into another stream`)
  return text === null ? null : text.trim()
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
    const file = await files.lockFile(this.filename).catch(nullIfLocked)
    if (file === null) return null
    try {
      const { mtimeMs } = await fs.promises.stat(this.filename)
      const isAnother = mtimeMs !== this.time
      if (isAnother) await this.sign(mtimeMs)
      return await run(isAnother)
    } finally {
      await file.close()
    }
  }

  /** @param {number} before when another one has */
  async sign (before) {
    // no mirror has set it before, also if they all do so at once, or the clock was set back
    const time = new Date(Math.max(Date.now(), before + LEAST_STEP))
    // of a file that is another user's, it cannot be set
    const isSet = await fs.promises.utimes(this.filename, time, time).then(() => true, () => false)
    this.time = isSet ? (await fs.promises.stat(this.filename)).mtimeMs : -1
  }
}

/**
 * Whole, or not at all.
 * @param {string} filename
 * @param {fs.Stats} log
 */
async function create (filename, log) {
  const identity = randomUUID()
  const unfinished = `${filename}.${identity}`
  try {
    await files.writeFile(unfinished, log, Buffer.from(`${identity}\n`))
    // another process may have created it meanwhile
    await files.placeFile(unfinished, filename, { given: filename, like: log }).catch((err) => { if (err.code !== 'EEXIST') throw err })
  } finally {
    await fs.promises.rm(unfinished, { force: true })
  }
}

/**
 * @param {string} filename
 * @returns {Promise<string | null>}
 */
function readIfThere (filename) {
  return fs.promises.readFile(filename, 'latin1').catch((err) => {
    if (err.code !== 'ENOENT') throw err
    return null
  })
}

/** @param {any} err @returns {null} */
function nullIfLocked (err) {
  if (err.code !== 'flumelog:locked') throw err
  return null
}

module.exports = { identityOf, readIdentity, MirrorLock }
