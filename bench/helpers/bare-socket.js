'use strict'

// A lower bound: a minimal loop in which clients send records over a local socket to an owner, which packs them into blocks and
// writes these to a file. It has no recovery, identities, limits or error handling. A log that processes share cannot be faster.
//
//     from a client  length:u32 (of what follows)  records, framed as in the log
//     to a client    count:u32 (of records written since the answer before)

const fs = require('fs')
const net = require('net')
const path = require('path')
const { crc32 } = require('../../lib/format/crc32')

// a direct reference: see lib/format/layout.js
const { set } = Uint8Array.prototype

const BLOCK_SIZE = 64 * 1024
/** Reserved at the end of each block for the padding. */
const PADDING_SIZE = 10
/** Larger writes use the thread pool. */
const MAX_SYNC_WRITE = 64 * 1024

/** @param {string} folder */
function socketIn (folder) {
  return process.platform === 'win32' ? `\\\\.\\pipe\\${folder.replaceAll(path.sep, '-')}` : path.join(folder, 'bare.socket')
}

/** @param {string} folder */
function fileIn (folder) {
  return path.join(folder, 'bare')
}

/**
 * Owns the file, and writes what clients send.
 * @param {string} folder
 * @param {boolean} gathers whether a client gets one answer per write; else one per message
 * @returns {Promise<{ close: () => Promise<void> }>}
 */
async function bareOwner (folder, gathers) {
  const fd = fs.openSync(fileIn(folder), 'w')
  /** Not written, or only in part; the last one is being filled. */
  let blocks = [Buffer.alloc(BLOCK_SIZE)]
  /** end of the records in the last block */
  let position = 0
  /** how much of the first block is written */
  let written = 0
  let offset = 0
  let isWriting = false
  /** Answers to give after the next write. @type {Array<{ socket: import('net').Socket, count: number }>} */
  let answers = []

  const server = net.createServer(socket => {
    /** the start of a message that has not arrived as a whole */
    let rest = Buffer.alloc(0)
    socket.on('data', (data) => {
      if (rest.length > 0) data = Buffer.concat([rest, data])
      let at = 0
      while (data.length - at >= 4) {
        const end = at + 4 + data.readUInt32LE(at)
        if (end > data.length) break
        addAnswer(socket, pack(data, at + 4, end))
        at = end
      }
      rest = data.subarray(at)
      if (isWriting || answers.length === 0) return
      isWriting = true
      // messages of other clients in this turn join the write
      setImmediate(write)
    })
  })
  await new Promise(resolve => server.listen(socketIn(folder), () => resolve(undefined)))
  return {
    async close () {
      await new Promise(resolve => server.close(resolve))
      fs.closeSync(fd)
    }
  }

  /**
   * Copies records, in runs that fit into a block.
   * @param {Buffer} data
   * @param {number} start of the first record
   * @param {number} end of the last one
   * @returns {number} of records
   */
  function pack (data, start, end) {
    let count = 0
    let next = start
    while (start < end) {
      const limit = start + BLOCK_SIZE - PADDING_SIZE - position
      while (next < end) {
        const after = next + (data[next] | data[next + 1] << 8) + 4
        if (after > limit) break
        next = after
        count++
      }
      set.call(blocks[blocks.length - 1], data.subarray(start, next), position)
      position += next - start
      start = next
      if (start < end) startBlock()
    }
    return count
  }

  function startBlock () {
    const full = blocks[blocks.length - 1]
    full.writeUInt32LE(position, BLOCK_SIZE - 4)
    full.writeUInt32LE(crc32(full.subarray(0, BLOCK_SIZE - 8)), BLOCK_SIZE - 8)
    blocks.push(Buffer.alloc(BLOCK_SIZE))
    position = 0
  }

  function addAnswer (socket, count) {
    const known = gathers ? answers.find(answer => answer.socket === socket) : undefined
    if (known === undefined) answers.push({ socket, count })
    else known.count += count
  }

  function write () {
    const end = position
    const last = blocks.length - 1
    const buffers = blocks.map((block, i) => block.subarray(i === 0 ? written : 0, i === last ? end : BLOCK_SIZE))
    const size = buffers.reduce((sum, { length }) => sum + length, 0)
    const given = answers
    answers = []
    if (size <= MAX_SYNC_WRITE) done(null, fs.writevSync(fd, buffers, offset))
    else fs.writev(fd, buffers, offset, done)

    function done (err, bytes) {
      if (err || bytes !== size) throw err ?? new Error(`wrote ${bytes} bytes of ${size}`)
      blocks = blocks.slice(last)
      written = end
      offset += size
      for (const { socket, count } of given) answer(socket, count)
      isWriting = answers.length > 0
      if (isWriting) setImmediate(write)
    }
  }

  function answer (socket, count) {
    const message = Buffer.allocUnsafe(4)
    message.writeUInt32LE(count)
    socket.write(message)
  }
}

/**
 * @param {string} folder
 * @returns {Promise<{ append: (record: Buffer, cb: (err: Error | null) => void) => void, close: () => Promise<void> }>}
 */
async function bareClient (folder) {
  const socket = net.connect(socketIn(folder))
  await new Promise((resolve, reject) => socket.once('connect', () => resolve(undefined)).once('error', reject))
  /** @type {Buffer[]} */
  let records = []
  let size = 0
  const callbacks = []
  let rest = Buffer.alloc(0)

  socket.on('data', (data) => {
    if (rest.length > 0) data = Buffer.concat([rest, data])
    let at = 0
    let count = 0
    for (; data.length - at >= 4; at += 4) count += data.readUInt32LE(at)
    rest = data.subarray(at)
    for (const cb of callbacks.splice(0, count)) cb(null)
  })

  /** Everything that was appended in one turn goes into one message. */
  function send () {
    const message = Buffer.allocUnsafe(4 + size)
    message.writeUInt32LE(size)
    let at = 4
    for (const record of records) {
      const { length } = record
      message[at] = message[at + length + 2] = length & 255
      message[at + 1] = message[at + length + 3] = length >> 8
      set.call(message, record, at + 2)
      at += length + 4
    }
    records = []
    size = 0
    socket.write(message)
  }

  return {
    append (record, cb) {
      if (records.push(record) === 1) process.nextTick(send)
      size += record.length + 4
      callbacks.push(cb)
    },
    socket,
    close: () => new Promise(resolve => {
      socket.once('close', () => resolve(undefined))
      socket.end()
    })
  }
}

/**
 * @param {string} folder
 * @returns {number} of records in the file
 */
function countRecords (folder) {
  const data = fs.readFileSync(fileIn(folder))
  let count = 0
  for (let block = 0; block < data.length; block += BLOCK_SIZE) {
    const isWhole = block + BLOCK_SIZE <= data.length
    const end = isWhole ? block + data.readUInt32LE(block + BLOCK_SIZE - 4) : data.length
    for (let at = block; at < end; at += data.readUInt16LE(at) + 4) count++
  }
  return count
}

module.exports = { bareOwner, bareClient, countRecords }
