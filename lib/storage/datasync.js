'use strict'

// Makes the contents of a file durable.

const fs = require('fs')
const { promisify } = require('util')
const errors = require('../errors')

const fdatasync = promisify(fs.fdatasync)

/**
 * @param {number} fd
 * @param {string} filename of the same file
 */
async function datasync (fd, filename) {
  if (process.permission === undefined) return fdatasync(fd)
  // The permission model disables fdatasync of a file descriptor, but, up to Node.js 24, not that
  // of a FileHandle. All of a file is synced, whichever descriptor wrote it.
  const handle = await fs.promises.open(filename, 'r+')
  try {
    const [mine, there] = [fs.fstatSync(fd, { bigint: true }), await handle.stat({ bigint: true })]
    if (mine.ino !== there.ino || mine.dev !== there.dev) throw errors.replaced(filename, 'replaced by another file')
    await handle.datasync()
  } finally {
    await handle.close()
  }
}

/**
 * @param {unknown} err of a call that fsyncs
 * @param {string} filename of the log
 * @returns {unknown} what to tell the caller
 */
function explained (err, filename) {
  const { code, permission } = /** @type {{ code?: string, permission?: string }} */ (err)
  return code === 'ERR_ACCESS_DENIED' && permission === '' ? errors.noFsync(filename, err) : err
}

module.exports = { datasync, explained }
