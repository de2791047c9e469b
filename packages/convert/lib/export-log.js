'use strict'

// Exports a log to a file of another format, under a temporary name until it is complete. The log may be open: what was acknowledged
// when it was opened here is exported.

const fs = require('fs')
const path = require('path')
const { randomBytes } = require('crypto')
const { files } = require('flumelog-random-access-file/blocks')
const { open } = require('flumelog-random-access-file/promises')
const { OutFile } = require('./out-file')
const { writerOf } = require('./writers')

/**
 * @typedef {import('flumelog-random-access-file/promises').FlumeLog} Log
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
 * @param {import('flumelog-random-access-file/blocks').Work} work
 * @returns {Promise<Exported>}
 */
async function exportLog (filename, target, { to, fields = [] }, work) {
  work.throwIfStopped()
  // resolved now: the process may change its directory meanwhile
  const name = path.resolve(target)
  const log = await open(filename, { readOnly: true, large: true, cacheSize: 0 })
  try {
    files.assertAbsent(name, target)
    const unfinished = `${name}.${randomBytes(6).toString('hex')}.exporting`
    const folders = files.createFolders(path.dirname(name))
    // at once: a process that is interrupted does not wait for the disk
    const onabort = () => fs.rmSync(unfinished, { force: true })
    work.signal?.addEventListener('abort', onabort, { once: true })
    try {
      const exported = await write(log, filename, unfinished, to, fields, work)
      work.throwIfStopped()
      work.signal?.removeEventListener('abort', onabort)
      await files.placeFile(unfinished, name, { given: target, like: await fs.promises.stat(filename) })
      return exported
    } catch (err) {
      fs.rmSync(unfinished, { force: true })
      // those in which another process has put something meanwhile stay
      for (const folder of folders) await fs.promises.rmdir(folder).catch(() => {})
      work.throwIfStopped()
      throw err
    } finally {
      work.signal?.removeEventListener('abort', onabort)
    }
  } finally {
    await log.close()
  }
}

/**
 * @param {Log} log
 * @param {string} filename
 * @param {string} name
 * @param {string} to
 * @param {string[]} fields
 * @param {import('flumelog-random-access-file/blocks').Work} work
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
async function writeSome (log, from, end, file, writer, counts, onprogress) {
  let next = from
  let isStopped = false
  let { records, bytes } = counts
  await log.scan({ gte: from, lt: end, cache: false, reuse: true }, (block, start, after, seq) => {
    writer.add(block, start, after, seq)
    records++
    bytes += after - start
    if (!file.isFull) return true
    next = seq + 1
    isStopped = !file.startWrite()
    if (!isStopped) onprogress(next)
    return !isStopped
  })
  Object.assign(counts, { records, bytes })
  return isStopped ? next : end
}

module.exports = { exportLog }
