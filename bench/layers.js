'use strict'

// What does each layer cost? Reads a whole log through more and more layers, for several
// block sizes; and the same records from other stores. The log's own cache is empty, the
// page cache contains the file.

const fs = require('fs')
const path = require('path')
const RandomAccessFile = require('random-access-file')
const peers = require('./peers')
const ours = require('./peers/ours')
const { BlockCache } = require('../lib/read/block-cache')
const { Readahead } = require('../lib/read/readahead')
const { pathFile } = require('../lib/storage/path-file')
const { bareStream } = require('./helpers/bare')
const { drain } = require('./helpers/pull')
const { readRow, stored, timeReads } = require('./helpers/rows')

const KIB = 1024
const NO_CHECKS = { checksum: false }

const sizes = {
  quick: { count: 100000, blockSizes: [1, 8, 64] },
  full: { count: 1000000, blockSizes: [4, 16, 64] }
}
/** The default; the others are measured in fewer rounds. */
const DEFAULT_KIB = 64

/** Each layer reads the log at `filename`, and calls `onRecord` per record. */
const layers = [
  { name: 'file', note: 'fs.readSync, block by block', countsBytes: true, open: readFile },
  { name: 'random-access-file', note: 'one block at a time', countsBytes: true, open: readStorage },
  { name: 'blocks', note: 'through storage and cache, with readahead and verification', countsBytes: true, open: readBlocks },
  { name: 'scan', open: withLog((log, onRecord) => scan(log, {}, onRecord)) },
  { name: 'scan, reuse', note: 'with recycled buffers', open: withLog((log, onRecord) => scan(log, { reuse: true }, onRecord)) },
  { name: 'values: false', open: withLog((log, onRecord) => drain(log.stream({ values: false }), onRecord)) },
  { name: 'stream', open: withLog((log, onRecord) => drain(log.stream(), onRecord)) },
  { name: 'bare stream', note: 'a minimal loop that yields the same: see bench/helpers/bare.js', open: readBare },
  { name: 'reverse', open: withLog((log, onRecord) => drain(log.stream({ reverse: true }), onRecord)) }
]

/** The same without verifying checksums. */
const unchecked = layers.filter(({ name }) => ['blocks', 'scan', 'scan, reuse', 'stream'].includes(name))
  .map(layer => ({ ...layer, name: `${layer.name}, checksum: false`, options: NO_CHECKS }))

/** Through the promises API. */
const wrapped = [
  { name: 'for await of stream', note: 'promises API', open: withPromises((log, onRecord) => iterate(log.stream(), onRecord)) },
  {
    name: 'for await of batches',
    note: 'promises API',
    open: withPromises((log, onRecord) => iterate(log.batches(), (batch) => {
      for (let i = 0; i < batch.length; i++) onRecord(batch[i])
    }))
  }
]

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const { count, blockSizes } = sizes[size]
  return [
    ...blockSizes.map(kib => ({
      name: `blocks of ${kib} KiB`,
      x: kib * KIB,
      table: 'block size',
      column: `${kib} KiB`,
      rounds: kib === DEFAULT_KIB ? undefined : 2,
      rows: [...layers, ...(kib === DEFAULT_KIB ? [...unchecked, ...wrapped] : [])].map(layer => layerRow(layer, count, kib * KIB))
    })),
    {
      name: 'sequential read, all stores',
      rows: peers.filter(({ isVolatile }) => !isVolatile).map(peer => readRow(peer, count))
    }
  ]
}

/**
 * @param {object} layer
 * @param {number} count of records in the log
 * @param {number} blockSize in bytes
 */
function layerRow ({ name, note, countsBytes, open, options = {} }, count, blockSize) {
  return {
    name,
    note,
    input: stored(ours, count, { blockSize }),
    run ({ input }) {
      const filename = path.join(input, 'log')
      return timeReads(count, async () => {
        const reader = await open(filename, blockSize, options)
        return countsBytes ? { ...reader, read: (onRecord) => countedByFile(reader, filename, count, onRecord) } : reader
      })
    }
  }
}

/** For layers below records: checks the number of bytes read instead. */
async function countedByFile ({ read }, filename, count, onRecord) {
  let bytes = 0
  await read((length) => { bytes += length })
  if (bytes !== fs.statSync(filename).size) throw new Error(`read ${bytes} bytes of ${fs.statSync(filename).size}`)
  for (let i = 0; i < count; i++) onRecord()
}

function scan (log, options, onRecord) {
  return new Promise((resolve, reject) => log.scan(options, onRecord, (err) => err ? reject(err) : resolve()))
}

/**
 * @param {(log: object, onRecord: () => void) => Promise<void>} read
 * @param {object} [more] options for the log
 */
function withLog (read, more) {
  return async (filename, blockSize, options) => {
    const { log, close } = await ours.open(path.dirname(filename), { ...more, ...options })
    return { read: (onRecord) => read(log, onRecord), close }
  }
}

/** @param {(log: object, onRecord: () => void) => Promise<void>} read */
function withPromises (read) {
  return async (filename) => {
    const log = await require('../promises').open(filename)
    return { read: (onRecord) => read(log, onRecord), close: () => log.close() }
  }
}

async function iterate (items, onItem) {
  for await (const item of items) onItem(item)
}

async function readFile (filename, blockSize) {
  const fd = fs.openSync(filename, 'r')
  const buffer = Buffer.alloc(blockSize)
  return {
    async read (onBytes) {
      for (let length; (length = fs.readSync(fd, buffer, 0, blockSize, null)) > 0;) onBytes(length)
    },
    close: async () => { fs.closeSync(fd) }
  }
}

async function readStorage (filename, blockSize) {
  const storage = new RandomAccessFile(filename, { writable: false })
  await new Promise((resolve, reject) => storage.open((err) => err ? reject(err) : resolve()))
  return {
    read: (onBytes) => new Promise((resolve, reject) => {
      const { size } = fs.statSync(filename)
      let at = 0
      next()

      function next () {
        if (at === size) return resolve()
        storage.read(at, Math.min(blockSize, size - at), (err, data) => {
          if (err) return reject(err)
          at += data.length
          onBytes(data.length)
          next()
        })
      }
    }),
    close: () => new Promise(resolve => storage.close(resolve))
  }
}

async function readBare (filename, blockSize) {
  const fd = fs.openSync(filename, 'r')
  return {
    read: (onRecord) => drain(bareStream(fd, blockSize), onRecord),
    close: async () => { fs.closeSync(fd) }
  }
}

async function readBlocks (filename, blockSize, { checksum = true }) {
  const file = pathFile(filename, { readOnly: true, lock: false })
  await file.io.open()
  const blocks = new BlockCache(file, { blockSize, checksum, cacheSize: 64 * KIB * KIB })
  const { size } = fs.statSync(filename)
  blocks.tail.number = Math.floor(size / blockSize)
  blocks.tail.end = size % blockSize
  return {
    read: (onBytes) => new Promise((resolve, reject) => {
      const readAhead = new Readahead(blocks, false, true, false)
      let number = 0
      next()

      function next () {
        for (let block; (block = readAhead.take(number, blocks.tail.number, next)) !== undefined; number++) {
          if (block.error !== null) return reject(block.error)
          if (block === blocks.tail) {
            onBytes(block.end)
            return resolve()
          }
          onBytes(blockSize)
        }
      }
    }),
    close: () => file.io.close()
  }
}

module.exports = { name: 'layers', question: 'What does each layer cost?', groups }
