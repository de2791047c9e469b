'use strict'

// The files of logs that are closed: as Node.js has them, to be exported and imported.

const { mountClosed, unmount } = require('./mounts')
const { Volume, directoryName, hasLog, rootDirectory } = require('./volume')
const { failure, translated } = require('./errors')

/** Bytes that are stored, or are a part of a gap. */
const PIECE_SIZE = 64 * 1024
/** Bytes of zeros in memory. */
const MAX_ZEROS = 1024 * 1024

/** @typedef {{ name: string, data: Blob | ArrayBuffer | Uint8Array }} NamedData */

/**
 * @param {string} name
 * @returns {Promise<File[]>} the log, FILE.meta and the others, by the names that they have in Node.js. They are read when they are used, so
 *   before the log is opened again
 * @throws ENOENT, flumelog:locked
 */
async function exportFiles (name) {
  const volume = await mountClosed(name)
  await unmount(name)
  return Promise.all(Array.from(volume.inodes, async ([file, { number, gapStart, gapLength }]) => {
    const handle = await volume.directory.getFileHandle(String(number))
    const stored = await handle.getFile()
    return new File([stored.slice(0, gapStart), ...zeros(gapLength), stored.slice(gapStart)], file)
  }))
}

/**
 * @param {number} length
 * @returns {Blob[]} so many zeros, with memory for a few
 */
function zeros (length) {
  const many = new Blob([new Uint8Array(Math.min(length, MAX_ZEROS))])
  return [...new Array(Math.floor(length / MAX_ZEROS)).fill(many), many.slice(0, length % MAX_ZEROS)]
}

/**
 * Creates a log of its files: all or nothing.
 * @param {string} name
 * @param {Iterable<File | NamedData>} files the log, with the shortest name, and those beside it, whose names start with that
 * @throws EEXIST, if there is such a log; ENOSPC; flumelog:invalid
 */
async function importFiles (name, files) {
  const given = [...files].sort((a, b) => a.name.length - b.name.length)
  const log = given[0]?.name
  const stranger = given.find((file, index) => index > 0 && !file.name.startsWith(`${log}.`))
  if (log === undefined) throw failure('flumelog:invalid', 'there are no files to import')
  if (stranger !== undefined) throw failure('flumelog:invalid', `${stranger.name} is no file of the log ${log}: its name would start with ${log}.`)
  const volume = await Volume.mount(name, false)
  const added = []
  try {
    if (volume.inodes.has(name)) throw failure('EEXIST', 'import', name)
    for (const file of given) {
      const inode = await volume.create()
      added.push({ name: name + file.name.slice(log.length), inode })
      await store(file, inode)
    }
    volume.addAll(added)
  } catch (err) {
    throw translated(err, 'import', name)
  } finally {
    for (const { inode } of added) inode.considerRemoving()
    await volume.unmount()
  }
}

/**
 * @param {File | NamedData} file
 * @param {import('./inode').Inode} inode
 */
async function store (file, inode) {
  const data = 'data' in file ? file.data : file
  const reader = (data instanceof Blob ? data : new Blob(/** @type {any} */ ([data]))).stream().getReader()
  let size = 0
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    for (let start = 0; start < part.value.length; start += PIECE_SIZE) {
      const piece = part.value.subarray(start, start + PIECE_SIZE)
      // zeros may be a gap
      if (piece.some(byte => byte !== 0)) writeAll(inode, piece, size)
      size += piece.length
    }
  }
  if (inode.size < size) inode.truncate(size)
  inode.sync()
}

/**
 * @param {import('./inode').Inode} inode
 * @param {Uint8Array} bytes
 * @param {number} position
 */
function writeAll (inode, bytes, position) {
  for (let done = 0; done < bytes.length;) {
    const written = inode.write(bytes.subarray(done), position + done)
    if (written === 0) throw failure('ENOSPC', 'write')
    done += written
  }
}

/**
 * @param {string} name of a log that is closed
 * @throws ENOENT, flumelog:locked
 */
async function removeLog (name) {
  await mountClosed(name)
  await unmount(name)
  const root = await rootDirectory()
  await root.removeEntry(directoryName(name), { recursive: true }).catch((/** @type {any} */ err) => { throw translated(err, 'unlink', name) })
}

/** @returns {Promise<string[]>} the names of all logs of this origin */
async function listLogs () {
  const root = await rootDirectory()
  const names = []
  for await (const [key, directory] of root.entries()) {
    const name = decodeURIComponent(key)
    if (await hasLog(directory, name)) names.push(name)
  }
  return names.sort()
}

module.exports = { exportFiles, importFiles, removeLog, listLogs }
