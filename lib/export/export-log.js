'use strict'

// Exports a log to a file of another format, under a temporary name until it is complete. The log may be open: what was acknowledged
// when it was opened here is exported.

const fs = require('fs')
const path = require('path')
const { randomBytes } = require('crypto')
const errors = require('../errors')
const { createLog, logBehind } = require('../log')
const { settingsOf } = require('../options')
const { onAbort } = require('../signal')
const { createFolders } = require('../storage/directory')
const { inheritMode } = require('../storage/inherit')
const { pathFile } = require('../storage/path-file')
const { finishAs, linkOrCopy } = require('../maintenance/repaired-files')
const { OutFile } = require('./out-file')
const { writerOf } = require('./writers')

/**
 * @typedef {import('../types').FlumeLog<Buffer>} Log
 * @typedef {import('./writers').Writer} Writer
 *
 * @typedef {object} Exported
 * @property {number} records that were exported
 * @property {number} bytes of data in these
 * @property {number} size of the file in bytes
 * @property {string[]} [missing] of CSV: fields that no record has
 */

/**
 * @param {string} filename
 * @param {string} target
 * @param {{ to: string, fields?: string[] }} options
 * @param {import('../maintenance/work').Work} work
 * @returns {Promise<Exported>}
 */
async function exportLog (filename, target, { to, fields = [] }, work) {
  work.mustGoOn()
  // resolved now: the process may change its directory meanwhile
  const name = path.resolve(target)
  const settings = settingsOf({ readOnly: true, large: true, cacheSize: 0 })
  const log = /** @type {Log} */ (createLog(pathFile(filename, settings), settings))
  try {
    await ready(log)
    const found = fs.statSync(name, { throwIfNoEntry: false })
    if (found !== undefined) throw found.isDirectory() ? errors.isDirectory(target) : errors.exists(target)
    const unfinished = `${name}.${randomBytes(6).toString('hex')}.exporting`
    const folders = createFolders(path.dirname(name))
    // at once: a process that is interrupted does not wait for the disk
    const stopListening = onAbort(work.signal, () => fs.rmSync(unfinished, { force: true }))
    try {
      const exported = await write(log, filename, unfinished, to, fields, work)
      inheritMode(unfinished, await fs.promises.stat(filename))
      work.mustGoOn()
      stopListening()
      await finishAs(unfinished, async () => {
        await linkOrCopy(unfinished, name).catch(err => { throw err.code === 'EEXIST' ? errors.exists(target) : err })
        return name
      })
      return exported
    } catch (err) {
      fs.rmSync(unfinished, { force: true })
      // those in which another process has put something meanwhile stay
      for (const folder of folders) await fs.promises.rmdir(folder).catch(() => {})
      work.mustGoOn()
      throw err
    } finally {
      stopListening()
    }
  } finally {
    await new Promise(resolve => log.close(resolve))
  }
}

/**
 * @param {Log} log
 * @param {string} filename
 * @param {string} name
 * @param {string} to
 * @param {string[]} fields
 * @param {import('../maintenance/work').Work} work
 * @returns {Promise<Exported>} once the file is durable
 */
async function write (log, filename, name, to, fields, work) {
  const { start } = log
  const end = log.stats().size
  const onprogress = work.begin('export')
  const file = await OutFile.create(name)
  try {
    const writer = writerOf(to, file, filename, fields)
    const counts = { records: 0, bytes: 0 }
    const progress = (/** @type {number} */ next) => onprogress(next - start, end - start)
    for (let next = start; next < end;) {
      next = await writeSome(log, next, end, file, writer, counts, progress)
      await file.write()
      progress(next)
    }
    writer.end()
    await file.sync()
    return { ...counts, size: file.size, ...(writer.missing && { missing: [...writer.missing] }) }
  } finally {
    await file.close()
  }
}

/**
 * Writes records until all buffers of the file are full: the disk is slower. A scan that is stopped has read blocks in vain.
 * @param {Log} log
 * @param {number} from
 * @param {number} end
 * @param {OutFile} file
 * @param {Writer} writer
 * @param {{ records: number, bytes: number }} counts are updated
 * @param {(next: number) => void} onprogress may throw
 * @returns {Promise<number>} up to where the log was read
 */
function writeSome (log, from, end, file, writer, counts, onprogress) {
  let next = from
  let isStopped = false
  let { records, bytes } = counts
  return new Promise((resolve, reject) => {
    log.scan({ gte: from, lt: end, cache: false, reuse: true }, (block, start, after, seq) => {
      writer.add(block, start, after, seq)
      records++
      bytes += after - start
      if (!file.isFull) return true
      next = seq + 1
      isStopped = !file.startWrite()
      if (!isStopped) onprogress(next)
      return !isStopped
    }, (err) => {
      Object.assign(counts, { records, bytes })
      if (err) reject(err)
      else resolve(isStopped ? next : end)
    })
  })
}
/** @param {Log} log */
function ready (log) {
  return new Promise((resolve, reject) => logBehind(log)?.whenFresh((err) => err ? reject(err) : resolve(undefined)))
}

module.exports = { exportLog }
