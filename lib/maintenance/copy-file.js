'use strict'

// Copies a log to another file. It may be open: the copy has what was acknowledged when it was started.

const path = require('path')
const { pathFile } = require('../storage/path-file')
const { openExtent } = require('./extent')
const { assertAbsent } = require('./new-log')
const { originOfCopy, placeLog } = require('./replace-log')
const { mustBePath, workFor } = require('../work')
const { writeCopy } = require('./write-copy')

/** @typedef {import('./write-copy').CopyOptions & import('../work').WorkOptions} CopyFileOptions */

const workOf = workFor('copy', ['compact', 'salvage'])

/**
 * @param {string} file
 * @param {string} target
 * @param {CopyFileOptions} options
 * @returns {Promise<import('./copy').Copied>}
 */
async function copy (file, target, options) {
  const work = workOf(options)
  mustBePath('the file', file)
  mustBePath('the target', target)
  work.throwIfStopped()
  // resolved now: the process may change its directory while the log is copied
  const source = path.resolve(file)
  const name = path.resolve(target)
  const extent = await openExtent(pathFile(file, { readOnly: true, lock: false }))
  try {
    assertAbsent(name, target)
    return await writeCopy(extent, { name, given: target, original: source }, options, work, async (copied, unfinished) => {
      // again: it is about to be replaced
      assertAbsent(name, target)
      await placeLog(name, unfinished, target, await originOfCopy(extent, source, copied))
      return copied
    })
  } finally {
    await extent.io.close()
  }
}

module.exports = { copy }
