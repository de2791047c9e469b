'use strict'

// Maps the seqs of a log from before its last compaction to those since. In the file
// FILE.offset-map, in pages of 4 KiB, each with a checksum, so that a lookup reads and
// verifies a few of them, whatever the size of the log. The first page is the header; the others hold
// runs of records that follow each other in both files, in their order:
//
//     header := line (see lib/format/lines.js) with { id, previousId, start, base, end, pages }, spaces
//     page   := run{1,170} zeros count:LE32 checksum:LE32
//     run    := old:LE64 new:LE64 length:LE32 last:LE32      last: where its last record starts, from its start
//
// `id` is that of the log since the compaction, `previousId` from before. All records of the compacted log are at `base` or
// after it, and those of the log before it are in front of it. A map counts if FILE.meta has its id. While its log is not in place, and for a
// moment after that, it has another name (unfinished-files.js).

const fs = require('fs')
const { crc32 } = require('zlib')
const errors = require('../errors')
const { formatLine, parseLine } = require('../format/lines')
const { TO_READ, closeQuietly } = require('../storage/directory')
const { namesOf } = require('./unfinished-files')

const PAGE_SIZE = 4096
const RUN_SIZE = 24
const RUNS_PER_PAGE = Math.floor((PAGE_SIZE - 8) / RUN_SIZE)
const COUNT_AT = PAGE_SIZE - 8
const CHECKSUM_AT = PAGE_SIZE - 4

/** Pages that stay in memory: those of 350,000 runs. */
const MAX_KEPT = 2048

/** Bytes of one read: of 2 GiB or more, Node.js throws. */
const MAX_READ = 2 ** 30

/** A log whose name leaves no room for the suffix has no map. */
const NO_FILE = new Set(['ENOENT', 'ENAMETOOLONG'])

/**
 * @typedef {object} Header
 * @property {string} id of the log since the compaction
 * @property {string} previousId of the log before it
 * @property {number} start where that started: what was in front of this was trimmed
 * @property {number} base offset of the first record since the compaction
 * @property {number} end offset after the last record that was copied
 * @property {number} pages
 *
 * @typedef {object} Run
 * @property {number} old offset of its first record
 * @property {number} now the same in the compacted log
 * @property {number} length in bytes
 * @property {number} last its last record starts so many bytes after its start
 */

class OffsetMap {
  /**
   * @param {number} fd of the file, which is closed by `close`
   * @param {Header} header
   * @param {string} filename
   */
  constructor (fd, header, filename) {
    this.fd = fd
    this.id = header.id
    this.previousId = header.previousId
    this.start = header.start
    this.base = header.base
    this.end = header.end
    this.pages = header.pages
    this.filename = filename
    /** The page that was read last: lookups often follow each other. @type {Buffer} */
    this.page = Buffer.alloc(0)
    this.pageNumber = -1
    /** All pages, verified; null: they are read one by one. @type {Buffer | null} */
    this.loaded = null
  }

  /** @returns {Buffer} all of the file */
  readFile () {
    const bytes = Buffer.allocUnsafeSlow((this.pages + 1) * PAGE_SIZE)
    return bytes.subarray(0, readFully(this.fd, bytes, 0))
  }

  /** Reads and verifies all of it: what moves to the other file moves in one step, in which no lookup may fail. */
  load () {
    const bytes = Buffer.allocUnsafeSlow(this.pages * PAGE_SIZE)
    const size = readFully(this.fd, bytes, PAGE_SIZE)
    for (let i = 0; i < this.pages; i++) this.verify(bytes.subarray(0, size).subarray(i * PAGE_SIZE, (i + 1) * PAGE_SIZE), i)
    this.loaded = bytes
  }

  /** Of a large one, pages are read one by one from now on. */
  unload () {
    if (this.pages <= MAX_KEPT) return
    this.loaded = null
    this.page = Buffer.alloc(0)
    this.pageNumber = -1
  }

  /**
   * @param {string} log its path
   * @param {string} id of the log
   * @returns {Promise<OffsetMap | null>} null: the log has none, since it was never compacted
   */
  static async open (log, id) {
    const { map, unfinishedMap } = namesOf(log)
    // in this order: the one may be renamed to the other meanwhile
    for (const name of [unfinishedMap, map]) {
      const found = await OffsetMap.openFile(name)
      if (found !== null && found.id === id) return found
      found?.close()
    }
    return null
  }

  /**
   * @param {string} filename
   * @returns {Promise<OffsetMap | null>} null: there is no such file, or it is not whole
   */
  static async openFile (filename) {
    const fd = openIfThere(filename)
    if (fd === -1) return null
    let header = null
    try {
      if (fs.fstatSync(fd).isFile()) header = readHeader(fd)
    } finally {
      if (header === null) fs.closeSync(fd)
    }
    return header && new OffsetMap(fd, header, filename)
  }

  close () {
    const { fd } = this
    this.fd = -1
    closeQuietly(fd)
  }

  // By synchronous I/O, or none once it is loaded

  /**
   * @param {number} seq of a record before the compaction
   * @returns {number | null} its seq since; null: that record is gone
   */
  at (seq) {
    const run = this.runBefore(seq)
    return run !== null && seq < run.old + run.length ? run.now + seq - run.old : null
  }

  /**
   * @param {number} seq of a record, perhaps from before the compaction; -1: of none
   * @returns {number} the same since, unless the record, or this map, is gone
   */
  now (seq) {
    const isGone = this.fd === -1 && this.loaded === null
    return seq === -1 || seq >= this.base || isGone ? seq : this.at(seq) ?? seq
  }

  /**
   * @param {number} seq from before the compaction
   * @returns {number} the last record that was kept at or before it; -1: there is none
   */
  down (seq) {
    const run = this.runBefore(seq)
    if (run === null) return -1
    return run.now + Math.min(seq - run.old, run.last)
  }

  /**
   * @param {number} seq from before the compaction; any offset
   * @returns {number} of the first record that was kept at or after it; where the copied records end if there is none
   */
  up (seq) {
    const run = this.runBefore(seq)
    if (run !== null && seq < run.old + run.length) return run.now + seq - run.old
    const next = this.runs(seq).next()
    return next.done ? this.end : next.value.now
  }

  /**
   * @param {number} from offset before the compaction
   * @returns {Generator<Run, void, void>} the runs that start there or after it
   */
  * runs (from) {
    for (let number = Math.max(0, this.pageBefore(from)); number < this.pages; number++) {
      const page = this.read(number)
      const count = page.readUInt32LE(COUNT_AT)
      for (let i = 0; i < count; i++) if (startOf(page, i) >= from) yield runAt(page, i)
    }
  }

  /**
   * @param {number} seq
   * @returns {Run | null} the last one that starts at or before it
   */
  runBefore (seq) {
    const number = this.pageBefore(seq)
    if (number === -1) return null
    const page = this.read(number)
    let low = 0
    let high = page.readUInt32LE(COUNT_AT)
    while (high - low > 1) {
      const middle = (low + high) >>> 1
      if (startOf(page, middle) <= seq) low = middle
      else high = middle
    }
    return runAt(page, low)
  }

  /**
   * @param {number} seq
   * @returns {number} of the last page whose first run starts at or before it; -1 if there is none
   */
  pageBefore (seq) {
    let low = -1
    let high = this.pages
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (startOf(this.read(middle), 0) <= seq) low = middle
      else high = middle
    }
    return low
  }

  /**
   * @param {number} number from 0
   * @returns {Buffer} valid until the next call
   * @throws flumelog:corrupt
   */
  read (number) {
    if (number === this.pageNumber) return this.page
    this.pageNumber = -1
    this.page = this.loaded?.subarray(number * PAGE_SIZE, (number + 1) * PAGE_SIZE) ?? this.verify(this.readPage(number), number)
    this.pageNumber = number
    return this.page
  }

  /**
   * @param {Buffer} page
   * @param {number} number from 0
   * @returns {Buffer} the same
   * @throws flumelog:corrupt
   */
  verify (page, number) {
    if (page.length < PAGE_SIZE || crc32(page.subarray(0, CHECKSUM_AT)) !== page.readUInt32LE(CHECKSUM_AT)) {
      throw errors.corruptMap(this.filename, number)
    }
    return page
  }

  /** @param {number} number from 0 */
  readPage (number) {
    const page = this.page.length === 0 ? Buffer.allocUnsafeSlow(PAGE_SIZE) : this.page
    return page.subarray(0, fs.readSync(this.fd, page, 0, PAGE_SIZE, (number + 1) * PAGE_SIZE))
  }
}

/**
 * @param {number} fd
 * @param {Buffer} bytes
 * @param {number} offset
 * @returns {number} how many there are
 */
function readFully (fd, bytes, offset) {
  let size = 0
  for (let count = -1; size < bytes.length && count !== 0; size += count) count = fs.readSync(fd, bytes, size, Math.min(bytes.length - size, MAX_READ), offset + size)
  return size
}

/**
 * @param {Buffer} page
 * @param {number} index of a run in it
 */
function startOf (page, index) {
  return readOffset(page, index * RUN_SIZE)
}

/**
 * @param {Buffer} page
 * @param {number} index
 * @returns {Run}
 */
function runAt (page, index) {
  const at = index * RUN_SIZE
  return { old: readOffset(page, at), now: readOffset(page, at + 8), length: page.readUInt32LE(at + 16), last: page.readUInt32LE(at + 20) }
}

/**
 * @param {Buffer} page
 * @param {number} at
 */
function readOffset (page, at) {
  return page.readUInt32LE(at) + page.readUInt32LE(at + 4) * 2 ** 32
}

/**
 * @param {Buffer} page
 * @param {number} at
 * @param {number} offset
 */
function writeOffset (page, at, offset) {
  page.writeUInt32LE(offset % 2 ** 32, at)
  page.writeUInt32LE(Math.floor(offset / 2 ** 32), at + 4)
}

/**
 * @param {Buffer} page
 * @param {number} index
 * @param {Run} run
 */
function writeRun (page, index, { old, now, length, last }) {
  const at = index * RUN_SIZE
  writeOffset(page, at, old)
  writeOffset(page, at + 8, now)
  page.writeUInt32LE(length, at + 16)
  page.writeUInt32LE(last, at + 20)
}

/**
 * @param {Buffer} page
 * @param {number} count of its runs
 */
function sealPage (page, count) {
  page.writeUInt32LE(count, COUNT_AT)
  page.writeUInt32LE(crc32(page.subarray(0, CHECKSUM_AT)), CHECKSUM_AT)
}

/**
 * @param {Header} header
 * @returns {Buffer}
 */
function headerPage (header) {
  return Buffer.from(formatLine(JSON.stringify(header), PAGE_SIZE), 'latin1')
}

/**
 * @param {number} fd
 * @returns {Header | null} null: it is not whole
 */
function readHeader (fd) {
  const page = Buffer.allocUnsafe(PAGE_SIZE)
  const bytes = fs.readSync(fd, page, 0, PAGE_SIZE, 0)
  const json = parseLine(page.toString('latin1', 0, bytes).split('\n')[0])
  return json === null ? null : JSON.parse(json)
}

/**
 * At once: each opening of a log looks for one, and few find one.
 * @param {string} filename
 * @returns {number} -1: there is no such file
 */
function openIfThere (filename) {
  try {
    return fs.openSync(filename, TO_READ)
  } catch (err) {
    if (NO_FILE.has(/** @type {any} */ (err).code)) return -1
    throw err
  }
}

/**
 * Gives the map of a log that has taken its place the name of a map, or removes what a process has left that was killed before that. Only the
 * process that holds the lock of the log may.
 * @param {string} log its path
 * @param {string} id of the log
 */
async function settleMap (log, id) {
  const { map, unfinishedMap } = namesOf(log)
  // every opening asks, and hardly ever is one there
  if (!fs.existsSync(unfinishedMap)) return
  // one that the log has already is durable, if it can be read; another one of this log, which its backup has left, need not be
  if (await idIn(unfinishedMap) === id && await idIn(map).catch(() => null) !== id) await fs.promises.rename(unfinishedMap, map)
  else await fs.promises.unlink(unfinishedMap)
}

/**
 * @param {string} filename of a map
 * @returns {Promise<string | undefined>} of the log that it is of; undefined: there is none, or it is not whole
 */
async function idIn (filename) {
  const found = await OffsetMap.openFile(filename)
  found?.close()
  return found?.id
}

module.exports = { OffsetMap, PAGE_SIZE, RUNS_PER_PAGE, headerPage, sealPage, settleMap, writeRun }
