'use strict'

// Copies a log to another file. It may be open: the copy has what was acknowledged when it was started.

const fs = require('fs')
const path = require('path')
const { randomBytes } = require('crypto')
const { createFolders } = require('../storage/directory')
const { pathFile } = require('../storage/path-file')
const { mustBeFree } = require('./beside')
const { openExtent } = require('./extent')
const { finishAs, linkNew } = require('./repaired-files')
const { anotherOrigin, originOf, putBeside, removeBeside } = require('./replace-log')
const { mustBePath, workFor } = require('./work')
const { writeCopy } = require('./write-copy')

/** @typedef {import('./write-copy').CopyOptions & import('./work').WorkOptions} CopyFileOptions */

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
  work.mustGoOn()
  // resolved now: the process may change its directory while the log is copied
  const source = path.resolve(file)
  const name = path.resolve(target)
  const extent = await openExtent(pathFile(file, { readOnly: true, lock: false }))
  try {
    mustBeFree(name, target)
    const unfinished = `${name}.${randomBytes(6).toString('hex')}.copying`
    const folders = createFolders(path.dirname(name))
    try {
      const { copied } = await writeCopy(extent, unfinished, source, options, work, async ({ moved, size }) => {
        // again: it is about to be replaced
        mustBeFree(name, target)
        // what is appended to a shorter one would get offsets that deleted records had
        const isMoved = moved || size < extent.end
        await putBeside(name, unfinished, isMoved ? anotherOrigin(extent.blockSize) : await originOf(extent.io, source, extent.blockSize))
        await finishAs(unfinished, () => linkNew(unfinished, name, target)).catch(async (err) => {
          await removeBeside(name)
          throw err
        })
      })
      return copied
    } catch (err) {
      // those in which another process has put something meanwhile stay
      for (const folder of folders) await fs.promises.rmdir(folder).catch(() => {})
      throw err
    }
  } finally {
    await extent.io.close()
  }
}

module.exports = { copy }
