'use strict'

// Keeps what recovery truncates, in a file beside the log.

const fs = require('fs')
const { isZeros } = require('../format/zeros')
const { createBeside, syncFolder } = require('./directory')
const { inherit } = require('./inherit')
const { writeAll } = require('./buffers')

const COPY_SIZE = 1024 * 1024

/**
 * Runs of zeros become holes: a file that was extended but not written can have gigabytes of them.
 * @param {(offset: number, size: number) => Promise<Buffer>} read
 * @param {{ path: string, folder: string }} log
 * @param {number} offset
 * @param {number} end
 * @returns {Promise<string>} the name of the file; it is durable
 */
async function writeCutFile (read, log, offset, end) {
  const { name, handle } = await createBeside(`${log.path}.cut-${offset}`)
  try {
    inherit(handle.fd, await fs.promises.stat(log.path))
    for (let at = offset; at < end; at += COPY_SIZE) {
      const bytes = await read(at, Math.min(COPY_SIZE, end - at))
      if (!isZeros(bytes)) await writeAll(handle.fd, [bytes], at - offset)
    }
    await handle.truncate(end - offset)
    await handle.sync()
  } catch (err) {
    await fs.promises.unlink(name).catch(() => {})
    throw err
  } finally {
    await handle.close()
  }
  await syncFolder(log.folder)
  return name
}

module.exports = { writeCutFile }
