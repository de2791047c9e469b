'use strict'

// flumelog-aligned-offset with promises. It calls back before it has written, so these wait
// for the file.

const fs = require('fs')
const AlignedLog = require('flumelog-aligned-offset')

const PATIENCE = 60000

/**
 * Appends, and waits until the file has the expected size.
 * @param {string} filename
 * @param {number} blockSize
 * @param {Uint8Array[]} records
 * @param {number} end where the log ends with them
 */
async function appendAligned (filename, blockSize, records, end) {
  const log = AlignedLog(filename, { block: blockSize })
  await ready(log)
  log.append(records, false, () => {})
  await reached(filename, end)
  await closed(log)
}

/**
 * @param {string} filename
 * @param {number} blockSize
 * @param {object} [options] of its stream
 * @returns {Promise<Array<{ seq: number, value: Buffer }>>}
 */
async function readAligned (filename, blockSize, options) {
  const log = AlignedLog(filename, { block: blockSize })
  await ready(log)
  const records = []
  await new Promise((resolve, reject) => {
    log.stream(options).pipe({
      paused: false,
      write: record => records.push(record),
      end: err => err && err !== true ? reject(err) : resolve()
    })
  })
  await closed(log)
  return records
}

/**
 * @param {string} filename
 * @param {number} blockSize
 * @param {(log: any) => Promise<void>} use
 */
async function withAligned (filename, blockSize, use) {
  const log = AlignedLog(filename, { block: blockSize })
  await ready(log)
  await use(log)
  await closed(log)
}

// its onReady may call back before the last block is loaded; a call that waits for that block
// does not
const ready = (log) => new Promise(resolve => log.onDrain(resolve))
const closed = (log) => new Promise(resolve => log.close(resolve))

/**
 * @param {string} filename
 * @param {number} size
 */
async function reached (filename, size) {
  const begun = Date.now()
  for (;;) {
    const is = await fs.promises.stat(filename).then(stat => stat.size, () => 0)
    if (is === size) return
    if (is > size) throw new Error(`${filename} has ${is} bytes instead of ${size}`)
    if (Date.now() - begun > PATIENCE) throw new Error(`${filename} has ${is} bytes and never came to have ${size}`)
    await new Promise(resolve => setTimeout(resolve, 2))
  }
}

module.exports = { appendAligned, readAligned, withAligned }
