'use strict'

/** @param {Uint8Array[]} records */
function sizeOf (records) {
  return records.reduce((bytes, { length }) => bytes + length, 0)
}

module.exports = { sizeOf }
