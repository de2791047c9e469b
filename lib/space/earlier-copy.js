'use strict'

// What an interrupted compaction has copied. The next one copies the log again, in memory, and does not write what the file has
// already: so nothing depends on whether the log, or the file, has changed since, and the result is as if there had been no file.
// Only records that were deleted since stay in the copy, as deleted records, or all that follows them would move.

const fs = require('fs')
const { promisify } = require('util')
const { Holes, PAGE_SIZE } = require('../storage/holes')
const { OffsetMap } = require('./offset-map')
const { filesOf } = require('./compaction-files')
const { writeAll } = require('../storage/write-all')

const open = promisify(fs.open)
const read = promisify(fs.read)
/** The name must not lead elsewhere. Windows does not have that flag. */
const TO_UPDATE = fs.constants.O_RDWR | (fs.constants.O_NOFOLLOW ?? 0)

class EarlierCopy {
  /**
   * @param {number} fd of the copy; this and the map's are closed by the compaction
   * @param {OffsetMap} map
   */
  constructor (fd, map) {
    this.fd = fd
    this.map = map
    this.runs = map.runs(0)
    /** The one that was asked for last; null: there are no more. @type {import('./offset-map').Run | null} */
    this.run = this.nextRun()
    /** @type {Buffer | null} */
    this.memory = null
  }

  /**
   * @param {string} log its path
   * @returns {Promise<EarlierCopy | null>} null: there is none
   */
  static async open (log) {
    const { unfinished, unfinishedMap } = filesOf(log)
    const fd = await open(unfinished, TO_UPDATE).catch(() => -1)
    if (fd === -1) return null
    const map = !fs.fstatSync(fd).isFile() ? null : await OffsetMap.openFile(unfinishedMap, TO_UPDATE).catch(() => null)
    if (map !== null) return new EarlierCopy(fd, map)
    fs.closeSync(fd)
    return null
  }

  /**
   * Nothing is in front of the records, whatever has happened to the file.
   * @returns {Promise<boolean>} false: that space cannot be freed here
   */
  async clearHead () {
    const write = (/** @type {number} */ offset, /** @type {Buffer} */ zeros) => writeAll(this.fd, [zeros], offset)
    const { base } = this.map
    const last = Math.floor(base / PAGE_SIZE) * PAGE_SIZE
    if (!await new Holes(() => this.fd, write).freePages(0, last)) return false
    if (base > last) await write(last, Buffer.alloc(base - last))
    return true
  }

  /**
   * Whether a record has a place in the copy. To be asked in the order of the records.
   * @param {number} old where it is in the log
   * @param {number} size with its lengths
   * @param {number} now where it would be in the new file
   */
  hasPlace (old, size, now) {
    while (this.run !== null && this.run.old + this.run.length <= old) this.run = this.nextRun()
    const { run } = this
    if (run === null || old < run.old || old + size > run.old + run.length) return false
    if (run.now + old - run.old === now) return true
    // what follows has another place, too
    this.run = null
    return false
  }

  /** @returns {import('./offset-map').Run | null} */
  nextRun () {
    try {
      return this.runs.next().value ?? null
    } catch {
      return null // a page that was being written when the power was cut
    }
  }

  /**
   * @param {Buffer} bytes
   * @param {number} offset
   * @returns {Promise<boolean>} whether the copy has them there
   */
  async has (bytes, offset) {
    const memory = this.memory ??= Buffer.allocUnsafeSlow(bytes.length)
    const { bytesRead } = await read(this.fd, memory, 0, bytes.length, offset)
    return bytesRead === bytes.length && memory.equals(bytes)
  }
}

module.exports = { EarlierCopy }
