'use strict'

// FILE.mirror-id, by which a log is told from all others: a log has no name of its own. It is created when the log is mirrored for the first time.

const fs = require('fs')
const { randomUUID } = require('crypto')
const errors = require('../errors')
const { canLock, tryLock } = require('../storage/lock')
const { datasync } = require('../storage/datasync')
const { nullIfMissing, syncFolder } = require('../storage/directory')
const { shareAsLog } = require('../storage/share-as-log')

const SUFFIX = '.mirror-id'
const IDENTITY = /^[0-9a-f-]{36}\n$/

/**
 * @param {import('../storage/path-file').LogFile} file of a log that is open
 * @returns {Promise<string>}
 */
async function identityOf ({ location, status }) {
  if (location === null) throw errors.invalid('only a log in a file can be mirrored; this one is in a storage')
  const filename = location.path + SUFFIX
  for (;;) {
    const text = await fs.promises.readFile(filename, 'latin1').catch(nullIfMissing)
    if (text !== null && IDENTITY.test(text)) return text.trim()
    if (text !== null) throw errors.invalid(`${filename}: not an id of a log; restore the file, or remove it, and mirror the log into another stream`)
    await create(filename, location.folder, status())
  }
}

/**
 * Runs something that two mirrors of a log must not do at the same time.
 * @template T
 * @param {import('../storage/path-file').LogFile} file of a log that has an id
 * @param {() => Promise<T>} run
 * @returns {Promise<T | null>} null: another one is doing it
 */
async function exclusively ({ location }, run) {
  const file = await fs.promises.open(/** @type {import('../storage/location').Location} */ (location).path + SUFFIX, 'r+')
  try {
    return canLock && !tryLock(file.fd) ? null : await run()
  } finally {
    await file.close()
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
  const file = await fs.promises.open(unfinished, 'wx', 0o600)
  try {
    await file.write(`${identity}\n`)
    await shareAsLog(file.fd, log)
    await datasync(file.fd, unfinished)
    // another process may have created it meanwhile
    await fs.promises.link(unfinished, filename).catch((err) => { if (err.code !== 'EEXIST') throw err })
  } finally {
    await file.close()
    await fs.promises.unlink(unfinished)
  }
  await syncFolder(folder)
}

module.exports = { identityOf, exclusively }
