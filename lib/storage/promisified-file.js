'use strict'

// A log's file with promises, for operations on a whole log: opening, recovery, verifying.
// Operations per record or per block use the callbacks.

const { promisify } = require('util')

/**
 * @typedef {object} Io
 * @property {() => Promise<void>} open
 * @property {() => Promise<number>} size in bytes
 * @property {(offset: number, size: number) => Promise<Buffer>} read
 * @property {(offset: number, data: Buffer) => Promise<void>} write
 * @property {(offset: number) => Promise<void>} truncate
 * @property {(offset: number, length: number) => Promise<void>} punch
 * @property {() => Promise<void>} sync
 * @property {() => Promise<void>} close
 * @property {() => Promise<void>} checkPath throws if the path no longer leads to the open file
 * @property {(offset: number, end: number) => Promise<string | null>} keepCut
 * @property {() => Promise<import('./recovery-point').RecoveryPoint | null>} readPoint
 * @property {() => Promise<void>} syncPoint makes durable what was read
 * @property {() => Promise<void>} removePoint
 * @property {(size: number) => Promise<number | null>} readCount see `CountFile`
 * @property {(records: number | null) => Promise<void>} writeCount
 * @property {((size: number) => Promise<number>) | undefined} lastNonZero see `LogFile`
 * @property {boolean} hasPoint whether there can be a recovery point
 */

/**
 * @param {import('./path-file').LogFile} file
 * @returns {Io}
 */
function promises (file) {
  const { point, countFile, checkPath } = file
  return {
    open: promisify(file.open),
    size: /** @type {() => Promise<number>} */ (promisify(file.size)),
    read: /** @type {(offset: number, size: number) => Promise<Buffer>} */ (promisify(file.read)),
    write: promisify(file.write),
    truncate: promisify(file.truncate),
    punch: promisify(file.punch),
    sync: promisify(file.sync),
    close: promisify(file.close),
    checkPath: checkPath ? promisify(checkPath) : async () => {},
    keepCut: async (offset, end) => (await promisify(file.keepCut)(offset, end)) ?? null,
    readPoint: async () => point === null ? null : (await promisify(point.read)()) ?? null,
    syncPoint: async () => point === null ? undefined : promisify(point.sync)(),
    removePoint: async () => point === null ? undefined : promisify(point.remove)(),
    readCount: async (size) => countFile === null ? null : (await promisify(countFile.read)(size)) ?? null,
    writeCount: async (records) => countFile === null ? undefined : promisify(countFile.write)(records),
    lastNonZero: file.lastNonZero && /** @type {(size: number) => Promise<number>} */ (promisify(file.lastNonZero)),
    hasPoint: point !== null
  }
}

module.exports = { promises }
