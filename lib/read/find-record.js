'use strict'

// Finds one record, without reading ahead.

const { RECORD, WAITING, FAILED } = require('./cursor')
const { openRecordCursor } = require('./record-cursor')

/**
 * @param {Pick<import('./stream').ReadContext, 'blocks' | 'turn'>} context
 * @param {{ min: number, max: number, reverse: boolean }} range
 * @param {(err: Error | null, record: import('./cursor').Cursor | null) => void} cb given the first record in the range that is not deleted, as the
 *   cursor that is there, which has stopped; null: there is none. May be called at once
 */
function findRecord ({ blocks, turn }, range, cb) {
  const cursor = openRecordCursor(blocks, { ...range, useCache: true, fromStart: false, isSingle: true }, find)
  blocks.cursors.add(cursor)
  find()

  function find () {
    let found = cursor.next()
    while (found === RECORD && cursor.isDeleted()) {
      if (turn.isSpent()) return turn.defer(find)
      found = cursor.next()
    }
    if (found === WAITING) return
    cursor.stop()
    blocks.cursors.delete(cursor)
    cb(found === FAILED ? cursor.error : null, found === RECORD ? cursor : null)
  }
}

module.exports = { findRecord }
