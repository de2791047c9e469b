'use strict'

// The log behind a view: its blocks, and its name.

const path = require('path')
const { LogBlocks } = require('flumelog-random-access-file/blocks')

class ViewedLog extends LogBlocks {
  /**
   * @param {any} log
   * @param {string} [file] what tells its file from others that may take its place
   * @param {boolean} [isListed] whether it is one of several, in a list
   */
  constructor (log, file, isListed = false) {
    super(log)
    this.file = file
    this.isListed = isListed
  }

  /** Another one when all offsets are others: after a compaction, or of another file. */
  get id () {
    return this.file === undefined ? String(this.log.id) : `${this.log.id}-${this.file}`
  }

  /** The base name of the file. */
  get name () {
    return path.basename(this.log.filename)
  }

  /**
   * @param {unknown} err
   * @returns {string} its message without the path of the log, which viewers must not see
   */
  messageOf (err) {
    let message = err instanceof Error ? err.message : String(err)
    for (const name of [this.path, this.log.filename]) if (name) message = message.replaceAll(name, this.name)
    return message
  }
}

/** @param {unknown} err */
function codeOf (err) {
  return /** @type {{ code?: string } | null} */ (err)?.code
}

module.exports = { ViewedLog, codeOf }
