'use strict'

// The small file beside a log that says up to where all is on the disk.

const fs = require('fs')
const { randomUUID } = require('crypto')
const { callbackify } = require('util')
const { crc32 } = require('zlib')
const { onlyMissing, syncFolder } = require('./directory')

/**
 * What a writer leaves beside the log while it has unsynced data.
 * @typedef {object} RecoveryPoint
 * @property {number} offset up to here all was on the disk when this was written
 * @property {Rewrite[]} rewrites deletions that were under way
 * @property {string} [id] another one each time it is written
 * @typedef {{ offset: number, data: Buffer }} Rewrite bytes that belong at `offset`
 */

/**
 * @typedef {object} PointFile
 * @property {(cb: (err: Error | null, point?: RecoveryPoint | null) => void) => void} read null: there is none, or none that is whole
 * @property {(point: RecoveryPoint, cb: import('./path-file').Done) => void} write replaces it, all or nothing; it is on the disk before cb
 * @property {(cb: import('./path-file').Done) => void} remove
 */

/**
 * The recovery point as a small text file: a CRC-32 in hex, a blank, JSON. It is
 * replaced by renaming a new one over it, so that it is always whole.
 * @param {string} filename
 * @param {string} folder
 * @returns {PointFile}
 */
function pointFile (filename, folder) {
  return {
    read: callbackify(async () => {
      const text = await fs.promises.readFile(filename, 'utf8').catch(onlyMissing)
      return text === null ? null : parsePoint(text)
    }),
    write: callbackify(async (/** @type {RecoveryPoint} */ point) => {
      try {
        await writeSynced(filename + '.new', formatPoint(point))
      } catch (err) {
        // on a full disk what there is of it would take the last room
        await fs.promises.unlink(filename + '.new').catch(() => {})
        throw err
      }
      await fs.promises.rename(filename + '.new', filename)
      await syncFolder(folder)
    }),
    remove: callbackify(async () => {
      await fs.promises.unlink(filename + '.new').catch(onlyMissing)
      await fs.promises.unlink(filename).catch(onlyMissing)
      await syncFolder(folder)
    })
  }
}

/**
 * @param {string} filename
 * @param {string} text
 */
async function writeSynced (filename, text) {
  const handle = await fs.promises.open(filename, 'w')
  try {
    await handle.writeFile(text)
    await handle.datasync()
  } finally {
    await handle.close()
  }
}

/** @param {RecoveryPoint} point */
function formatPoint (point) {
  const rewrites = point.rewrites.map(({ offset, data }) => ({ offset, data: data.toString('base64') }))
  const json = JSON.stringify({ offset: point.offset, rewrites, id: randomUUID() })
  return `${crc32(json).toString(16).padStart(8, '0')} ${json}\n`
}

/**
 * @param {string} text
 * @returns {RecoveryPoint | null} null if it is not whole
 */
function parsePoint (text) {
  const json = text.slice(9, -1)
  if (text.length < 10 || crc32(json) !== parseInt(text.slice(0, 8), 16)) return null
  try {
    const { offset, rewrites, id } = JSON.parse(json)
    return {
      offset,
      rewrites: rewrites.map((/** @type {{ offset: number, data: string }} */ r) => ({ offset: r.offset, data: Buffer.from(r.data, 'base64') })),
      id
    }
  } catch {
    return null
  }
}

module.exports = { pointFile }
