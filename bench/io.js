'use strict'

// How far is each layer from the bare file? Reads and writes, one after the other,
// of pieces of one size; where it can be, by the log with blocks of that size and
// a record that fills its block.

const fs = require('fs')
const path = require('path')
const RandomAccessFile = require('random-access-file')
const ours = require('./peers/ours')
const layout = require('../lib/format/layout')
const { drive } = require('./helpers/drive')
const { randomNumbers } = require('./helpers/records')

const KIB = 1024
const NO_CACHE = { cacheSize: 0 }

const sizes = {
  quick: { fileSize: 16 * KIB * KIB, seconds: 0.1, pieces: [1, 64, 1024], rounds: 1 },
  full: { fileSize: 100 * KIB * KIB, seconds: 2, pieces: [1, 4, 16, 64, 256, 1024] }
}
const patterns = ['sequential reads', 'random reads', 'sequential writes', 'random writes']

/** Each opens a file and gives what reads or writes a piece at an offset. */
const accesses = [
  { name: 'fs, sync', open: openSync },
  { name: 'fs, async', open: openAsync },
  { name: 'random-access-file', open: openStorage }
]

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const { fileSize, seconds, pieces, rounds } = sizes[size]
  return patterns.flatMap(pattern => pieces.map(kib => {
    const pieceSize = kib * KIB
    const load = { pattern, pieceSize, seconds, pieces: fileSize / pieceSize }
    const rows = accesses.map(access => accessRow(access, load))
    if (pieceSize <= layout.MAX_BLOCK_SIZE && pattern !== 'random writes') rows.push(logRow(load))
    return { name: `${pattern}, pieces of ${kib} KiB`, x: pieceSize, table: `${pattern}, pieces of`, column: `${kib} KiB`, rounds, rows }
  }))
}

/**
 * @param {{ pattern: string, pieces: number }} load
 * @returns {(n: number) => number} which piece is the nth
 */
function orderOf ({ pattern, pieces }) {
  const random = randomNumbers(3)
  return pattern.startsWith('random') ? () => Math.floor(random() * pieces) : (n) => n % pieces
}

function accessRow ({ name, open }, load) {
  const { pattern, pieceSize, pieces, seconds } = load
  const isWrite = pattern.endsWith('writes')
  return {
    name,
    async run ({ scratch }) {
      const filename = path.join(scratch, 'file')
      // only a sequential writer begins with nothing
      fs.writeFileSync(filename, Buffer.alloc(pattern === 'sequential writes' ? 0 : pieceSize * pieces))
      const { read, write, close } = await open(filename, pieceSize)
      const order = orderOf(load)
      const data = Buffer.alloc(pieceSize, 'data')
      const step = isWrite ? (n, cb) => write(order(n) * pieceSize, data, cb) : (n, cb) => read(order(n) * pieceSize, cb)
      return { ...await time(step, load, seconds), ...await close() }
    }
  }
}

async function time (step, { pieceSize, pieces, pattern }, seconds) {
  // what goes into the file once is not written twice
  const count = pattern === 'sequential writes' ? pieces : Infinity
  if (count === Infinity) await drive({ count, inFlight: 1, seconds: seconds / 3 }, step)
  const { count: records, seconds: taken, latency } = await drive({ count, inFlight: 1, seconds }, step)
  return { records, bytes: records * pieceSize, seconds: taken, latency }
}

async function openSync (filename, pieceSize) {
  const fd = fs.openSync(filename, 'r+')
  const buffer = Buffer.alloc(pieceSize)
  return {
    read (offset, cb) {
      fs.readSync(fd, buffer, 0, pieceSize, offset)
      cb()
    },
    write (offset, data, cb) {
      fs.writeSync(fd, data, 0, pieceSize, offset)
      cb()
    },
    close: async () => fs.closeSync(fd)
  }
}

async function openAsync (filename, pieceSize) {
  const fd = fs.openSync(filename, 'r+')
  const buffer = Buffer.alloc(pieceSize)
  return {
    read: (offset, cb) => fs.read(fd, buffer, 0, pieceSize, offset, cb),
    write: (offset, data, cb) => fs.write(fd, data, 0, pieceSize, offset, cb),
    close: async () => fs.closeSync(fd)
  }
}

async function openStorage (filename, pieceSize) {
  const storage = new RandomAccessFile(filename)
  return {
    read: (offset, cb) => storage.read(offset, pieceSize, cb),
    write: (offset, data, cb) => storage.write(offset, data, cb),
    close: () => new Promise(resolve => storage.close(() => resolve()))
  }
}

function logRow (load) {
  const { pattern, pieceSize, pieces, seconds } = load
  const data = Buffer.alloc(layout.maxRecordSize(pieceSize, true), 'data')
  const blocks = {
    name: `blocks of ${pieceSize}`,
    async make (folder) {
      const store = await ours.open(folder, { blockSize: pieceSize })
      await drive({ count: pieces, inFlight: 1024 }, (_, cb) => store.append(data, cb))
      await store.close()
    }
  }
  return {
    name: 'the log',
    input: pattern.endsWith('reads') ? blocks : undefined,
    async run ({ input, scratch }) {
      const store = await ours.open(input ?? scratch, { blockSize: pieceSize, ...NO_CACHE })
      const order = orderOf(load)
      let step = (n, cb) => store.get(order(n) * pieceSize, cb)
      if (pattern === 'sequential reads') step = valuesInTurn(store.log)
      if (pattern === 'sequential writes') step = (_, cb) => store.append(data, cb)
      const measure = await time(step, load, seconds)
      await store.close()
      return measure
    }
  }
}

/** Value after value of a stream; a new one when the log has been read to its end. */
function valuesInTurn (log) {
  let read = log.stream({ seqs: false })
  return function next (n, cb) {
    read(null, (end) => {
      if (end !== true) return cb(end)
      read = log.stream({ seqs: false })
      next(n, cb)
    })
  }
}

module.exports = { name: 'io', question: 'How far is each layer from the bare file?', groups }
