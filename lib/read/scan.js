'use strict'

// Zero-copy iteration over records: nothing is allocated per record.

const { RECORD, WAITING, FAILED } = require('./cursor')
const { openRecordCursor } = require('./record-cursor')
const { refuseOldBounds, scanRangeOf } = require('./options')
const { CHECK_INTERVAL } = require('./turn-budget')
const errors = require('../errors')

/**
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
  /** @type {((block: null, start: number, end: number, seq: number) => boolean | void) | null} */
  let passDeleted = null
  try {
    const range = scanRangeOf(options)
    refuseOldBounds(options, blocks)
    cursor = openRecordCursor(blocks, range, run)
    if (options.deleted) passDeleted = /** @type {any} */ (onRecord)
    blocks.cursors.add(cursor)
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
        if (cursor.isDeleted() ? passDeleted !== null && passDeleted(null, cursor.start, cursor.end, cursor.seq) === false : cursor.passTo(onRecord) === false) break
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
