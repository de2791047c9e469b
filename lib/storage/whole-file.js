'use strict'

// A small file beside a log, with the log's mode and owner, that is there as a whole or not at all.

const fs = require('fs')
const path = require('path')
const { syncFolder } = require('./directory')
const { inherit } = require('./inherit')
const { writeAll } = require('./buffers')

/** What is appended to a name while the file is written. */
const NEW = '.new'

/**
 * @param {string} filename is overwritten
 * @param {fs.Stats} log
 * @param {Buffer} bytes durable afterwards, but for the name. If it fails, the file is removed
 */
async function writeFile (filename, log, bytes) {
  // not readable by others until it has the log's mode
  const file = await fs.promises.open(filename, 'w', 0o600)
  try {
    inherit(file.fd, log)
    await writeAll(file.fd, [bytes], 0)
    await file.datasync()
  } catch (err) {
    await fs.promises.rm(filename, { force: true })
    throw err
  } finally {
    await file.close()
  }
}

/**
 * @param {string} filename
 * @param {fs.Stats} log
 * @param {Buffer} bytes durable afterwards, with the name
 */
async function replaceFile (filename, log, bytes) {
  await writeFile(filename + NEW, log, bytes)
  await fs.promises.rename(filename + NEW, filename)
  await syncFolder(path.dirname(filename))
}

module.exports = { NEW, replaceFile, writeFile }
