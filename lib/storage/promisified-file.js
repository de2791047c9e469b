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
 * @property {import('./metadata-file').MetadataFile} metadata
 */

/**
 * @param {import('./path-file').LogFile} file
 * @returns {Io}
 */
function promises (file) {
  return {
    open: promisify(file.open),
    size: /** @type {() => Promise<number>} */ (promisify(file.size)),
    read: /** @type {(offset: number, size: number) => Promise<Buffer>} */ (promisify(file.read)),
    write: promisify(file.write),
    truncate: promisify(file.truncate),
    punch: promisify(file.punch),
    sync: promisify(file.sync),
    close: promisify(file.close),
    checkPath: promisify(file.checkPath),
    keepCut: async (offset, end) => (await promisify(file.keepCut)(offset, end)) ?? null,
    metadata: file.metadata
  }
}

module.exports = { promises }
