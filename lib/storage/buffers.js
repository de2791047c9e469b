'use strict'

// Operations on several buffers, for storages that support only one per call.

/**
 * Reads several buffers by one read each.
 * @param {import('./path-file').LogFile['read']} read
 * @returns {import('./path-file').LogFile['readMany']}
 */
function readEach (read) {
  return (offset, sizes, into, cb) => {
    /** @type {Buffer[]} */
    const buffers = new Array(sizes.length)
    /** @type {Error | null} */
    let failure = null
    let pending = sizes.length
    sizes.forEach((size, index) => {
      read(offset, size, (err, data) => {
        failure ??= err
        buffers[index] = /** @type {Buffer} */ (data)
        if (--pending > 0) return
        if (failure !== null) cb(failure)
        else cb(null, buffers)
      })
      offset += size
    })
  }
}

/**
 * Writes several buffers by one write.
 * @param {import('./path-file').LogFile['write']} write
 * @returns {import('./path-file').LogFile['writeMany']}
 */
function writeJoined (write) {
  return (offset, buffers, cb) => write(offset, Buffer.concat(buffers), cb)
}

/**
 * @param {Uint8Array[]} buffers
 * @returns {number} bytes in all of them
 */
function sizeOf (buffers) {
  let bytes = 0
  for (const { length } of buffers) bytes += length
  return bytes
}

module.exports = { readEach, writeJoined, sizeOf }
