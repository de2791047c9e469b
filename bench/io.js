'use strict'

// How close does each layer come to raw file I/O? Sequential calls that read or write chunks
// of one size; where possible also through the log, with blocks of that size and one record
// per block.

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
  quick: { fileSize: 16 * KIB * KIB, seconds: 0.05, chunks: [1, 64, 1024] },
  full: { fileSize: 100 * KIB * KIB, seconds: 0.3, chunks: [1, 16, 64, 1024], rounds: 2 }
}
const patterns = ['sequential reads', 'random reads', 'sequential writes', 'random writes']

/** Each opens a file, and returns functions that read or write a chunk at an offset. */
const accesses = [
  { name: 'fs, sync', open: openSync },
  { name: 'fs, async', open: openAsync },
  { name: 'random-access-file', open: openStorage }
]

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const { fileSize, seconds, chunks, rounds } = sizes[size]
  return patterns.flatMap(pattern => chunks.map(kib => {
    const chunkSize = kib * KIB
    const load = { pattern, chunkSize, seconds, chunks: fileSize / chunkSize }
    const rows = accesses.map(access => accessRow(access, load))
    if (chunkSize <= layout.MAX_BLOCK_SIZE && pattern !== 'random writes') rows.push(logRow(load))
    return { name: `${pattern} of ${kib} KiB`, x: chunkSize, table: `${pattern} of`, column: `${kib} KiB`, rounds, rows }
  }))
}

/**
 * @param {{ pattern: string, chunks: number }} load
 * @returns {(n: number) => number} the index of the nth chunk
 */
function orderOf ({ pattern, chunks }) {
  const random = randomNumbers(3)
  return pattern.startsWith('random') ? () => Math.floor(random() * chunks) : (n) => n % chunks
}

function accessRow ({ name, open }, load) {
  const { pattern, chunkSize, chunks, seconds } = load
  const isWrite = pattern.endsWith('writes')
  return {
    name,
    async run ({ scratch }) {
      const filename = path.join(scratch, 'file')
      // only sequential writes start with an empty file
      fs.writeFileSync(filename, Buffer.alloc(pattern === 'sequential writes' ? 0 : chunkSize * chunks))
      const { read, write, close } = await open(filename, chunkSize)
      const order = orderOf(load)
      const data = Buffer.alloc(chunkSize, 'data')
      const step = isWrite ? (n, cb) => write(order(n) * chunkSize, data, cb) : (n, cb) => read(order(n) * chunkSize, cb)
      const measures = await time(step, load, seconds)
      await close()
      return measures
    }
  }
}

async function time (step, { chunkSize, chunks, pattern }, seconds) {
  // sequential writes fill the file once
  const isOnce = pattern === 'sequential writes'
  const measures = []
  for (const phase of isOnce ? ['cold'] : ['cold', 'warm']) {
    const { count: records, seconds: taken, latency } = await drive({ count: isOnce ? chunks : Infinity, inFlight: 1, seconds }, step)
    measures.push({ phase, records, bytes: records * chunkSize, seconds: taken, latency })
  }
  return measures
}

async function openSync (filename, chunkSize) {
  const fd = fs.openSync(filename, 'r+')
  const buffer = Buffer.alloc(chunkSize)
  return {
    read (offset, cb) {
      fs.readSync(fd, buffer, 0, chunkSize, offset)
      cb()
    },
    write (offset, data, cb) {
      fs.writeSync(fd, data, 0, chunkSize, offset)
      cb()
    },
    close: async () => fs.closeSync(fd)
  }
}

async function openAsync (filename, chunkSize) {
  const fd = fs.openSync(filename, 'r+')
  const buffer = Buffer.alloc(chunkSize)
  return {
    read: (offset, cb) => fs.read(fd, buffer, 0, chunkSize, offset, cb),
    write: (offset, data, cb) => fs.write(fd, data, 0, chunkSize, offset, cb),
    close: async () => fs.closeSync(fd)
  }
}

async function openStorage (filename, chunkSize) {
  const storage = new RandomAccessFile(filename)
  return {
    read: (offset, cb) => storage.read(offset, chunkSize, cb),
    write: (offset, data, cb) => storage.write(offset, data, cb),
    close: () => new Promise(resolve => storage.close(() => resolve()))
  }
}

function logRow (load) {
  const { pattern, chunkSize, chunks, seconds } = load
  const data = Buffer.alloc(layout.maxRecordSize(chunkSize, true), 'data')
  const blocks = {
    name: `blocks of ${chunkSize}`,
    async make (folder) {
      const store = await ours.open(folder, { blockSize: chunkSize })
      await drive({ count: chunks, inFlight: 1024 }, (_, cb) => store.append(data, cb))
      await store.close()
    }
  }
  return {
    name: 'the log',
    input: pattern.endsWith('reads') ? blocks : undefined,
    async run ({ input, scratch }) {
      const store = await ours.open(input ?? scratch, { blockSize: chunkSize, ...NO_CACHE })
      const order = orderOf(load)
      let step = (n, cb) => store.get(order(n) * chunkSize, cb)
      if (pattern === 'sequential reads') step = streamedValues(store.log)
      if (pattern === 'sequential writes') step = (_, cb) => store.append(data, cb)
      const measures = await time(step, load, seconds)
      await store.close()
      return measures
    }
  }
}

/** Reads values from a stream; opens a new one at the end of the log. */
function streamedValues (log) {
  let read = log.stream({ seqs: false })
  return function next (n, cb) {
    read(null, (end) => {
      if (end !== true) return cb(end)
      read = log.stream({ seqs: false })
      next(n, cb)
    })
  }
}

module.exports = { name: 'io', question: 'How close does each layer come to raw file I/O?', groups }
