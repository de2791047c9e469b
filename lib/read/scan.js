'use strict'

// Zero-copy iteration over records: nothing is allocated per record.

const { openCursor, RECORD, WAITING, FAILED } = require('./cursor')
const { scanRangeOf } = require('./options')
const { CHECK_INTERVAL } = require('./turn-budget')
const errors = require('../errors')

/**
 * @typedef {import('../format/block').Block} Block
 * @typedef {import('./options').ScanOptions} ScanOptions
 * @typedef {import('../types').OnRecord} OnRecord
 */

/**
 * @param {Pick<import('./stream').ReadContext, 'blocks' | 'turn'>} context
 * @param {ScanOptions} options
 * @param {OnRecord} onRecord
 * @param {(err: Error | null) => void} cb
 */
function scan ({ blocks, turn }, options, onRecord, cb) {
  /** @type {import('./cursor').Cursor} */
  let cursor
  try {
    cursor = openCursor(blocks, scanRangeOf(options), run)
  } catch (err) {
    return process.nextTick(cb, errors.thrown('an option', err))
  }
  run()

  function run () {
    /** @type {number} */
    let found
    let untilCheck = CHECK_INTERVAL
    try {
      while ((found = cursor.next()) === RECORD) {
        if (!cursor.isDeleted() && onRecord(/** @type {Block} */ (cursor.block).buffer, cursor.start, cursor.end, cursor.seq) === false) break
        if (--untilCheck === 0) {
          untilCheck = CHECK_INTERVAL
          if (turn.checkTime()) return turn.defer(run)
        }
      }
    } catch (thrown) {
      return finish(errors.thrown('onRecord', thrown))
    }
    if (found !== WAITING) finish(found === FAILED ? cursor.error : null)
  }

  /** @param {Error | null} err */
  function finish (err) {
    cursor.stop()
    cb(err)
  }
}

module.exports = { scan }
