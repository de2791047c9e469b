'use strict'

// Frees ranges of a file, which keeps its size: they read as zeros and take no space. Where
// that is not possible, zeros are written instead.

const { createRequire } = require('module')
const { libcFunction } = require('./libc')

/** Bytes; a file system frees whole pages. */
const PAGE_SIZE = 4096
/** Bytes of zeros per write. */
const MAX_ZEROS = 1024 * 1024

/** Of <linux/falloc.h>. */
const FALLOC_FL_KEEP_SIZE = 1
const FALLOC_FL_PUNCH_HOLE = 2

/** After any other error the next attempt may succeed. */
const UNSUPPORTED = new Set(['EOPNOTSUPP', 'ENOTSUP', 'ENOSYS', 'ENOTTY', 'EINVAL', 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM'])

/**
 * @typedef {(fd: number, offset: number, length: number) => Promise<void>} Free
 */

/** Frees pages; null: nothing here can. */
const free = loadFree()

class Holes {
  /**
   * @param {() => number} fdOf the file
   * @param {(offset: number, data: Buffer) => Promise<void>} write
   */
  constructor (fdOf, write) {
    this.fdOf = fdOf
    this.write = write
    /** Whether the file can have holes; null: not known yet. @type {boolean | null} */
    this.arePossible = free === null ? false : null
  }

  /**
   * @param {number} offset
   * @param {number} length bytes; they end within the file
   */
  async punch (offset, length) {
    const end = offset + length
    const first = Math.ceil(offset / PAGE_SIZE) * PAGE_SIZE
    const last = Math.floor(end / PAGE_SIZE) * PAGE_SIZE
    if (first >= last || !await this.freePages(first, last)) return writeZeros(this.write, offset, end)
    await writeZeros(this.write, offset, first)
    await writeZeros(this.write, last, end)
  }

  /**
   * @param {number} first
   * @param {number} last
   * @returns {Promise<boolean>} false: they could not be freed
   */
  async freePages (first, last) {
    if (free === null || this.arePossible === false) return false
    try {
      await free(this.fdOf(), first, last - first)
      return (this.arePossible = true)
    } catch (err) {
      if (UNSUPPORTED.has(/** @type {NodeJS.ErrnoException} */ (err).code ?? '')) this.arePossible = false
      return false
    }
  }
}

/**
 * @param {(offset: number, data: Buffer) => Promise<void>} write
 * @param {number} offset
 * @param {number} end
 */
async function writeZeros (write, offset, end) {
  const zeros = Buffer.alloc(Math.min(MAX_ZEROS, end - offset))
  for (; offset < end; offset += zeros.length) await write(offset, zeros.subarray(0, end - offset))
}

/** @returns {Free | null} */
function loadFree () {
  const isNode = process.versions.bun === undefined && process.versions.deno === undefined
  try {
    // not `require`: bundlers would stop at the native part
    return isNode ? nativeFree(createRequire(__filename)('fs-native-extensions')) : libcFree()
  } catch {
    return null
  }
}

/**
 * @param {{ trim: Free, sparse: (fd: number) => Promise<void> }} native
 * @returns {Free}
 */
function nativeFree ({ trim, sparse }) {
  if (process.platform !== 'win32') return trim
  return async (fd, offset, length) => {
    // there, a file frees nothing until it is marked as sparse
    await sparse(fd)
    await trim(fd, offset, length)
  }
}

/** @returns {Free} */
function libcFree () {
  // elsewhere it has another name, and takes its arguments in a way that cannot be called from here
  if (process.platform !== 'linux') throw new Error('only on Linux')
  const fallocate = libcFunction('fallocate', ['i32', 'i32', 'i64', 'i64'])
  return async (fd, offset, length) => {
    const result = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, BigInt(offset), BigInt(length))
    // the runtime may have changed errno by now
    if (result !== 0) throw Object.assign(new Error('pages cannot be freed'), { code: 'ENOTSUP' })
  }
}

module.exports = { Holes, writeZeros, PAGE_SIZE }
