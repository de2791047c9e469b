'use strict'

// Writes the file of an offset map, while records are copied.

const fs = require('fs')
const { promisify } = require('util')
const { inherit } = require('../storage/inherit')
const { writeAll } = require('../storage/buffers')
const { OffsetMap, PAGE_SIZE, RUNS_PER_PAGE, headerPage, sealPage, writeRun } = require('./offset-map')

const open = promisify(fs.open)
const datasync = promisify(fs.fdatasync)

class OffsetMapWriter {
  /**
   * @param {string} filename
   * @param {number} fd
   * @param {{ id: string, previousId: string, base: number }} ids
   */
  constructor (filename, fd, ids) {
    this.filename = filename
    this.fd = fd
    this.ids = ids
    /** Full pages that are not written. @type {Buffer[]} */
    this.full = []
    /** Pages that are written, and full. */
    this.written = 0
    this.page = Buffer.alloc(PAGE_SIZE)
    /** Runs in it. */
    this.count = 0
  }

  /**
   * @param {string} filename
   * @param {{ id: string, previousId: string, base: number }} ids
   * @param {fs.Stats} log whose mode and owner the file gets
   */
  static async create (filename, ids, log) {
    const fd = await open(filename, 'wx+', 0o600)
    inherit(fd, log)
    return new OffsetMapWriter(filename, fd, ids)
  }

  /** @param {import('./offset-map').Run} run behind all that were added */
  add (run) {
    writeRun(this.page, this.count++, run)
    if (this.count < RUNS_PER_PAGE) return
    sealPage(this.page, this.count)
    this.full.push(this.page)
    this.page = Buffer.alloc(PAGE_SIZE)
    this.count = 0
  }

  /** Writes the pages that are full. */
  async write () {
    const { full } = this
    if (full.length === 0) return
    this.full = []
    await writeAll(this.fd, full, (this.written + 1) * PAGE_SIZE)
    this.written += full.length
  }

  /**
   * Writes all of it.
   * @param {number} end offset after the last record that was copied
   * @param {number} [start] of the log before the compaction
   * @returns {Promise<OffsetMap>} of what was added so far
   */
  async finish (end, start = 0) {
    await this.write()
    const hasPart = this.count > 0
    if (hasPart) {
      sealPage(this.page, this.count)
      await writeAll(this.fd, [this.page], (this.written + 1) * PAGE_SIZE)
    }
    const header = { ...this.ids, start, end, pages: this.written + (hasPart ? 1 : 0) }
    await writeAll(this.fd, [headerPage(header)], 0)
    return new OffsetMap(this.fd, header, this.filename)
  }

  async sync () {
    await datasync(this.fd)
  }
}

module.exports = { OffsetMapWriter }
