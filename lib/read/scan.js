'use strict'

// The walk of a stream, without a Buffer or an object a record.

const { openCursor, rangeOf, RECORD, WAITING, FAILED } = require('./cursor')

/**
 * @typedef {import('./block-cache').Block} Block
 *
 * @typedef {object} ScanOnlyOptions
 * @property {boolean} [reuse] read into the memory of earlier blocks again, which is faster where the log does not fit
 *   the cache: then the bytes are good only until `onRecord` returns, and what is kept has to be copied; default false
 *
 * @typedef {import('./cursor').RangeOptions & ScanOnlyOptions} ScanOptions
 *
 * @callback OnRecord
 * @param {Buffer} block the bytes of a whole block; not to be changed
 * @param {number} start where the record's data starts in it
 * @param {number} end where the record's data ends in it
 * @param {number} seq the record's offset in the file
 * @returns {boolean | void} false: stop
 */

/**
 * @param {import('./block-cache').BlockCache} blocks
 * @param {ScanOptions} options
 * @param {OnRecord} onRecord
 * @param {(err: Error | null) => void} cb
 */
function scan (blocks, options, onRecord, cb) {
  /** @type {import('./cursor').Cursor} */
  let walk
  try {
    walk = openCursor(blocks, { ...rangeOf(options), reuse: !!options.reuse }, run)
  } catch (err) {
    return process.nextTick(cb, err)
  }
  run()

  function run () {
    let found
    /** @type {Error | null} */
    let thrown = null
    try {
      while ((found = walk.next()) === RECORD) {
        if (walk.isDeleted()) continue
        if (onRecord(/** @type {Block} */ (walk.block).buffer, walk.start, walk.end, walk.seq) === false) break
      }
    } catch (err) {
      thrown = /** @type {Error} */ (err)
    }
    if (found === WAITING && thrown === null) return
    walk.stop()
    cb(thrown ?? (found === FAILED ? walk.error : null))
  }
}

module.exports = { scan }
