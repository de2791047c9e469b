'use strict'

// The bytes of blocks, written out by hand.

const layout = require('../../lib/format/layout')

/** Bytes by hand: "06 00" is hex, "'text'" is text, "0*5" is five zeros. */
function bytes (text) {
  return Buffer.concat(text.match(/'[^']*'|[0-9a-f]{2}\*\d+|[0-9a-f]{2}/g).map(part => {
    if (part[0] === "'") return Buffer.from(part.slice(1, -1))
    const [byte, times] = part.split('*')
    return Buffer.alloc(Number(times ?? 1), parseInt(byte, 16))
  }))
}

/** A block of garbage, so that what is not written shows. */
function used (blockSize) {
  return Buffer.alloc(blockSize, 0xee)
}

function write (block, ...records) {
  return records.reduce((position, record) => layout.writeRecord(block, position, Buffer.from(record)), 0)
}

/** 0x0a -> "0a 00": little-endian. */
function le16 (number) {
  return Buffer.from([number & 255, number >> 8]).toString('hex')
}

function le32 (number) {
  return le16(number & 65535) + le16(number >>> 16)
}

module.exports = { bytes, used, write, le16, le32 }
