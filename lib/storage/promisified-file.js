'use strict'

// A log's file with promises, for operations on a whole log: opening, recovery, verifying.
// Operations per record or per block use the callbacks.

const { promised } = require('../callbacks')

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
 * @property {import('./metadata-file').MetadataFile} metadata
 */

/**
 * @param {import('./path-file').LogFile} file
 * @returns {Io}
 */
function promises (file) {
  return {
    open: () => promised(cb => file.open(cb)),
    size: () => promised(cb => file.size(cb)),
    read: (offset, size) => promised(cb => file.read(offset, size, cb)),
    write: (offset, data) => promised(cb => file.write(offset, data, cb)),
    truncate: (offset) => promised(cb => file.truncate(offset, cb)),
    punch: (offset, length) => promised(cb => file.punch(offset, length, cb)),
    sync: () => promised(cb => file.sync(cb)),
    close: () => promised(cb => file.close(cb)),
    checkPath: () => promised(cb => file.checkPath(cb)),
    keepCut: async (offset, end) => (await promised(cb => file.keepCut(offset, end, cb))) ?? null,
    metadata: file.metadata
  }
}

module.exports = { promises }
