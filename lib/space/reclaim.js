'use strict'

// Frees the space of all blocks whose records are deleted, among them those that an earlier version
// emptied, and holes that a crash has left unpunched. Reads all of the log, some blocks at a time
// into the same memory; the writer changes them between other operations.

const errors = require('../errors')
const { callBack } = require('../callbacks')
const { isDeleted, nextPosition } = require('../format/layout')
const { workFor } = require('../work')
const { PieceReader } = require('./piece-reader')

/** Empty blocks after which they are made holes before more is read. */
const MAX_FOUND = 64

const checkOptions = workFor('reclaim', [])

/**
 * @typedef {import('./types').Reclaimed} Reclaimed
 * @typedef {import('./types').ReclaimOptions} ReclaimOptions
 * @typedef {(err: Error | null, reclaimed?: Reclaimed) => void} ReclaimCallback
 */

/**
 * @param {import('../write/writer').Writer} writer
 * @param {ReclaimOptions} options
 * @returns {Promise<Reclaimed>}
 */
async function reclaim (writer, { onProgress, signal }) {
  const { blocks, file, deleter: { holes } } = writer
  const before = { ...holes.freed }
  // where nothing can be freed, nothing is read
  if (file.metadata !== null && file.canPunch() !== false) {
    const { start, blockSize, tail: { number: end } } = blocks
    let found = 0
    for await (const piece of new PieceReader(blocks).upTo(end)) {
      const { refusal } = writer.appender
      if (refusal !== null) throw refusal
      for (const block of piece) {
        if (block.error !== null || !isEmpty(block)) continue
        if (block.isHole) holes.considerHole(block.number)
        else holes.consider(block.number)
        found++
      }
      if (found >= MAX_FOUND) {
        await holes.make()
        found = 0
      }
      onProgress?.({ bytes: (piece[piece.length - 1].number + 1) * blockSize - start, total: end * blockSize - start })
      if (signal?.aborted) throw signal.reason
    }
    await holes.make()
  }
  return { blocks: holes.freed.blocks - before.blocks, bytes: holes.freed.bytes - before.bytes }
}

/**
 * @param {import('../format/block').Block} block
 * @returns {boolean} whether all of its records are deleted
 */
function isEmpty ({ buffer, end }) {
  for (let position = 0; position < end; position = nextPosition(buffer, position)) {
    if (!isDeleted(buffer, position)) return false
  }
  return true
}

/**
 * @param {import('../write/writer').Writer | import('../sharing/remote-writer').RemoteWriter | null} writer null: the log is read-only
 * @param {string | null} filename
 * @param {ReclaimOptions} options
 * @param {ReclaimCallback} cb called later
 */
function startReclaim (writer, filename, options, cb) {
  try {
    checkOptions(options)
  } catch (err) {
    return process.nextTick(cb, err)
  }
  if (writer === null) return process.nextTick(cb, errors.readOnly(filename, 'reclaim space'))
  if ('reclaim' in writer) return writer.reclaim(cb)
  callBack(reclaim(writer, options), cb)
}

module.exports = { startReclaim }
