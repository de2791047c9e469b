'use strict'

// How fast are imports and exports of whole files, relative to loops that only read the old file? The files of other logs are made by
// writers of this package, which give them byte for byte (test/export/).

const fs = require('fs')
const path = require('path')
const { OutFile } = require('../packages/convert/lib/out-file')
const { writerOf } = require('../packages/convert/lib/writers')
const { importLog, exportLog } = require('../packages/convert')
const { peakRss } = require('./helpers/memory')
const { recordMaker } = require('./helpers/records')

const MB = 1000 * 1000
/** Of data in the records. */
const sizes = { quick: 100 * MB, full: 1000 * MB }
const PIECE_SIZE = 1024 * 1024
/** Lengths and end of a record of flumelog-offset with 48 bits. */
const FRAME = 14
const RECORD_SIZES = [155, 1000]

/** The class that makes Buffers. */
const View = Buffer[Symbol.species]

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  return [
    ...RECORD_SIZES.map(recordSize => ({
      name: `import of ${sizes[size] / MB} MB, records of ${recordSize} bytes`,
      rows: [
        bareRow('bare loop: reads flumelog-offset, makes a view of each record', sizes[size], recordSize, true),
        bareRow('bare loop: reads flumelog-offset, follows the lengths', sizes[size], recordSize, false),
        copyRow(sizes[size], recordSize),
        ...['flumelog-offset-48', 'flumelog-aligned-offset', 'async-append-only-log', 'ndjson'].map(format => importRow(format, sizes[size], recordSize))
      ]
    })),
    {
      name: `export of ${sizes[size] / MB} MB, records of ${RECORD_SIZES[0]} bytes`,
      rows: ['flumelog-offset-48', 'flumelog-aligned-offset', 'async-append-only-log', 'ndjson'].map(format => exportRow(format, sizes[size], RECORD_SIZES[0]))
    }
  ]
}

/**
 * @param {string} format
 * @param {number} bytes of data
 * @param {number} recordSize
 */
function oldFile (format, bytes, recordSize) {
  return {
    name: `${format}-${bytes}-${recordSize}`,
    async make (folder) {
      const file = await OutFile.create(path.join(folder, 'old'))
      const writer = writerOf(format, file, 'records', [])
      const record = recordMaker(recordSize)
      for (let n = 0; n < bytes / recordSize; n++) {
        writer.add(record(n), 0, recordSize, n)
        if (file.isFull) await file.write()
      }
      writer.end()
      await file.sync()
      await file.close()
    }
  }
}

/**
 * @param {string} name
 * @param {number} bytes
 * @param {number} recordSize
 * @param {boolean} hasViews
 */
function bareRow (name, bytes, recordSize, hasViews) {
  return {
    name,
    input: oldFile('flumelog-offset-48', bytes, recordSize),
    async run ({ input }) {
      const begin = performance.now()
      const records = readBare(path.join(input, 'old'), hasViews)
      return { phase: 'cold', records, bytes: records * recordSize, seconds: (performance.now() - begin) / 1000 }
    }
  }
}

/**
 * @param {string} file
 * @param {boolean} hasViews
 * @returns {number} its records
 */
function readBare (file, hasViews) {
  const fd = fs.openSync(file, 'r')
  const buffer = Buffer.allocUnsafeSlow(2 * PIECE_SIZE)
  let records = 0
  let first = 0
  for (let rest = 0, read; (read = fs.readSync(fd, buffer, rest, PIECE_SIZE, null)) > 0;) {
    const end = rest + read
    let position = 0
    while (position + FRAME <= end) {
      const length = buffer.readUInt32BE(position)
      if (position + FRAME + length > end) break
      if (hasViews) first += new View(buffer.buffer, position + 4, length)[0]
      position += FRAME + length
      records++
    }
    buffer.copyWithin(0, position, end)
    rest = end - position
  }
  fs.closeSync(fd)
  if (hasViews && first === 0) throw new Error('no data was read')
  return records
}

/**
 * @param {number} bytes
 * @param {number} recordSize
 */
function copyRow (bytes, recordSize) {
  return {
    name: 'copy of the file, fsynced',
    input: oldFile('flumelog-offset-48', bytes, recordSize),
    async run ({ input, scratch }) {
      const begin = performance.now()
      const target = path.join(scratch, 'copy')
      await fs.promises.copyFile(path.join(input, 'old'), target)
      const handle = await fs.promises.open(target, 'r+')
      await handle.datasync()
      await handle.close()
      return { phase: 'cold', records: bytes / recordSize, bytes, seconds: (performance.now() - begin) / 1000 }
    }
  }
}

/**
 * @param {string} format
 * @param {number} bytes
 * @param {number} recordSize
 */
function importRow (format, bytes, recordSize) {
  return {
    name: `import of ${format}`,
    note: 'fsynced, read back and compared',
    input: oldFile(format, bytes, recordSize),
    async run ({ input, scratch }) {
      const begin = performance.now()
      const { records } = await importLog(path.join(input, 'old'), path.join(scratch, 'log'))
      const seconds = (performance.now() - begin) / 1000
      return [{ phase: 'cold', records, bytes: records * recordSize, seconds }, { phase: 'cold', part: 'peak RSS', memory: peakRss() }]
    }
  }
}

/**
 * @param {string} format
 * @param {number} bytes
 * @param {number} recordSize
 */
function exportRow (format, bytes, recordSize) {
  const old = oldFile('flumelog-offset-48', bytes, recordSize)
  return {
    name: `export to ${format}`,
    note: 'fsynced',
    input: { name: `log-${bytes}-${recordSize}`, make: async (folder) => { await old.make(folder); await importLog(path.join(folder, 'old'), path.join(folder, 'log')) } },
    async run ({ input, scratch }) {
      const begin = performance.now()
      const { records } = await exportLog(path.join(input, 'log'), path.join(scratch, 'out'), { to: format })
      const seconds = (performance.now() - begin) / 1000
      return [{ phase: 'cold', records, bytes: records * recordSize, seconds }, { phase: 'cold', part: 'peak RSS', memory: peakRss() }]
    }
  }
}

module.exports = { name: 'space-import', question: 'How fast are imports and exports, relative to reading the old file?', groups }
