'use strict'

// Exports a log to a file of another format, under a temporary name until it is complete. The log may be open: what was acknowledged
// when it was opened here is exported.

const fs = require('fs')
const path = require('path')
const { CopiedLog, callbacks: { promised }, files } = require('flumelog-random-access-file/blocks')
const { open } = require('flumelog-random-access-file/promises')
const errors = require('./errors')
const { OutFile } = require('./out-file')
const { writerOf } = require('./writers')

const UNFINISHED = '.exporting'

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
    const unfinished = name + UNFINISHED
    const folders = files.createFolders(path.dirname(name))
    // at once: a process that is interrupted does not wait for the disk
    const onabort = () => fs.rmSync(unfinished, { force: true })
    let lock = null
    try {
      // only this user can read it until it is complete; a process that was killed may have left one
      fs.closeSync(fs.openSync(unfinished, 'a', 0o600))
      lock = await files.lockFile(unfinished)
      work.signal?.addEventListener('abort', onabort, { once: true })
      work.throwIfStopped()
      const exported = await write(log, filename, unfinished, to, fields, work)
      work.throwIfStopped()
      work.signal?.removeEventListener('abort', onabort)
      await files.placeFile(unfinished, name, { given: target, like: await fs.promises.stat(filename) })
      return exported
    } catch (err) {
      if (lock === null && /** @type {any} */ (err)?.code === 'flumelog:locked') throw errors.beingExported(target)
      fs.rmSync(unfinished, { force: true })
      // those in which another process has put something meanwhile stay
      for (const folder of folders) await fs.promises.rmdir(folder).catch(() => {})
      work.throwIfStopped()
      throw err
    } finally {
      work.signal?.removeEventListener('abort', onabort)
      await lock?.close()
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
  const copied = new CopiedLog(log)
  const onprogress = work.begin('export')
  const file = await OutFile.create(name)
  const place = { start: log.start, next: log.start, end: log.stats().size }
  const removeListener = copied.log.onCompact(() => {
    const map = /** @type {NonNullable<typeof copied.ownMap>} */ (copied.ownMap)
    // what comes next was trimmed before: the next scan says so
    if (place.next > 0 && place.next < map.start) return
    Object.assign(place, { start: map.up(place.start), next: map.up(place.next), end: map.up(place.end) })
  })
  try {
    const writer = writerOf(to, file, filename, fields)
    const counts = { records: 0, bytes: 0 }
    const progress = () => onprogress(place.next - place.start, place.end - place.start)
    while (place.next < place.end) {
      await writeSome(copied, place, file, writer, counts, progress)
      await file.write()
      progress()
    }
    writer.end()
    await file.sync()
    return { ...counts, size: file.size, ...(writer.missing && { missing: [...writer.missing] }) }
  } finally {
    removeListener()
    await file.close()
  }
}

/**
 * Writes records until all buffers of the file are full: the disk is slower. A scan that is stopped has read blocks in vain.
 * @param {CopiedLog} copied
 * @param {{ next: number, end: number }} place up to where the log was read, and is to be read; it moves if the log is compacted
 * @param {OutFile} file
 * @param {Writer} writer
 * @param {{ records: number, bytes: number }} counts are updated
 * @param {() => void} onprogress may throw
 */
async function writeSome (copied, place, file, writer, counts, onprogress) {
  const { id, log } = copied
  let isStopped = false
  let { records, bytes } = counts
  await promised(cb => log.scan({ gte: place.next, lt: place.end, cache: false, reuse: true }, (block, start, after, seq) => {
    writer.add(block, start, after, seq)
    records++
    bytes += after - start
    place.next = seq + 1
    if (!file.isFull) return true
    isStopped = !file.startWrite()
    if (!isStopped) onprogress()
    return !isStopped
  }, cb)).catch((err) => {
    // it was compacted before the scan began
    if (copied.id === id || !['flumelog:compacted', 'flumelog:trimmed'].includes(err.code)) throw err
    isStopped = true
  })
  Object.assign(counts, { records, bytes })
  if (!isStopped) place.next = place.end
}

module.exports = { exportLog }
