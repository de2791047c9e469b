'use strict'

// Backs up a log that is open, and may be written meanwhile: the backup is a valid log that was closed. The first time, all of it
// is copied, under a temporary name. If the target is an earlier backup, what is new is appended to it, unless records were deleted or trimmed.

const fs = require('fs')
const path = require('path')
const errors = require('../errors')
const { assertAbsent } = require('../maintenance/new-log')
const { mustBePath, workFor } = require('../work')
const { isSameFile } = require('../storage/directory')
const { locate, mustBeNoSideFile } = require('../storage/location')
const { callBack, mustBeFunction, promised } = require('../callbacks')
const { EarlierBackup } = require('./earlier-backup')
const { makeFullBackup } = require('./full-backup')
const { SourceLog } = require('./source-log')

/**
 * @typedef {object} Log
 * @property {{ opened: import('../opening').Opened | null }} state
 * @property {import('../storage/path-file').LogFile} file
 * @property {(cb: (err: Error | null) => void, seq: number) => void} whenFresh
 * @property {string} filename
 * @property {boolean} isClosed
 * @property {unknown} closing null: `close` was not called
 *
 * @typedef {import('./types').BackupOptions} BackupOptions
 * @typedef {import('./types').BackedUp} BackedUp
 * @typedef {import('./types').BackupCallback} BackupCallback
 */

/** All of the log as it was has been trimmed meanwhile, or it has been compacted: the backup starts again. */
const GONE = ['flumelog:trimmed', 'flumelog:compacted']
/** How often it starts. */
const MAX_TRIES = 20

const workOf = workFor('backup', ['full'])

/**
 * @param {Log} log
 * @param {string} target
 * @param {BackupOptions | BackupCallback | undefined} options
 * @param {BackupCallback} [callback]
 */
function startBackup (log, target, options, callback) {
  const cb = typeof options === 'function' ? options : /** @type {BackupCallback} */ (callback)
  mustBeFunction('the callback', cb)
  callBack(backup(log, target, typeof options === 'function' ? {} : options ?? {}), cb)
}

/**
 * @param {Log} log
 * @param {string} target
 * @param {BackupOptions} options
 * @returns {Promise<BackedUp>}
 */
async function backup (log, target, options) {
  const work = workOf(options)
  const { full = false } = options
  mustBePath('the target', target)
  work.throwIfStopped()
  // resolved now: the process may change its directory meanwhile
  const name = path.resolve(target)
  mustBeNoSideFile(name)
  for (let tries = 1; ; tries++) {
    try {
      return await backUpOnce(log, name, target, full, work)
    } catch (err) {
      // its file fails as a closed one does
      if (log.closing !== null || log.isClosed) throw errors.closed(log.filename)
      if (!GONE.includes(/** @type {NodeJS.ErrnoException | null | undefined} */ (err)?.code ?? '') || tries === MAX_TRIES) throw err
    }
  }
}

/**
 * @param {Log} log
 * @param {string} name absolute
 * @param {string} target
 * @param {boolean} full
 * @param {import('../maintenance/new-log').Work} work
 * @returns {Promise<BackedUp>}
 */
async function backUpOnce (log, name, target, full, work) {
  // what another process has appended and deleted until now, too
  await promised(cb => log.whenFresh(cb, Infinity))
  const source = await openSource(log)
  mustBeAnother(source.file, name, target)
  if (!fs.existsSync(name)) {
    // a symbolic link that leads nowhere, and where it leads
    assertAbsent(name, target)
    assertAbsent(locate(name, true).path, target)
    return makeFullBackup(source, name, target, null, work)
  }
  const earlier = await EarlierBackup.open(source, name, target)
  try {
    const isUsable = !full && await earlier.compare(work)
    return isUsable ? await earlier.update(work) : await makeFullBackup(source, earlier.path, target, earlier, work)
  } finally {
    await earlier.close()
  }
}

/**
 * @param {Log} log which is open
 * @returns {Promise<SourceLog>} of which a power cut takes nothing any more: the log could go on otherwise than the backup
 */
async function openSource (log) {
  const opened = /** @type {import('../opening').Opened} */ (log.state.opened)
  const { blocks, writer } = opened
  const source = new SourceLog(blocks, log.file)
  if (writer !== null) await promised(cb => writer.sync(cb))
  // not on every system by a process that can only read
  else await promised(cb => log.file.sync(cb)).catch(() => {})
  return source
}

/**
 * @param {import('../storage/path-file').LogFile} file
 * @param {string} name
 * @param {string} target as the caller gave it
 */
function mustBeAnother (file, name, target) {
  if (isSameFile(file.location.path, name)) throw errors.invalid(`${target}: the target is the log itself; choose another name`)
  if (fs.statSync(name, { throwIfNoEntry: false })?.isDirectory()) throw errors.isDirectory(target)
}

module.exports = { startBackup }
