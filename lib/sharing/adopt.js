'use strict'

// A client becomes the owner: what it has sent and is not answered goes into its own log,
// unless the owner before has stored it. Its callers notice nothing.

const layout = require('../format/layout')
const errors = require('../errors')
const { ATOMIC, FORCED } = require('./frames')
const { execute } = require('./requests')

/**
 * @typedef {import('./frame-packer').Frame} Frame
 * @typedef {import('./remote-writer').RemoteWriter} RemoteWriter
 */

/**
 * Callers are answered by `release`.
 * @param {RemoteWriter} remote
 * @param {import('../write/writer').Writer} writer
 * @param {import('./known-clients').KnownClient | undefined} known what the owner before has left of this client
 * @param {{ blockSize: number, checksum: boolean, own: import('./frames').Run[], compact: import('./requests').Compact }} layout of the log
 */
function adopt (remote, writer, known, { blockSize, checksum, own, compact }) {
  const { packer } = remote
  remote.isAdopted = true
  remote.isHolding = true
  remote.flush()
  // what it has never sent cannot be stored already
  const hasSent = packer.frames.some(({ first }) => first <= remote.sent)
  if (known === undefined && hasSent) remote.giveUp(errors.forgotten(remote.filename))
  if (known !== undefined) {
    known.forget(remote.acknowledged)
    for (const run of known.runs) remote.onack(run, { blockSize, checksum })
  }
  Object.assign(writer.counts, startingCounts(remote.counts))
  for (const frame of [...packer.frames]) append(remote, writer, frame, { blockSize, checksum }, own)
  for (const [id, { ask }] of remote.requests.requests) {
    /** @type {import('./requests').Request['cb']} */
    const cb = (err, result) => {
      remote.onreply(id, err ?? null, result)
      remote.settle()
    }
    execute(writer, ask, cb, compact)
  }
}

/**
 * What is appended from now on goes to the writer directly.
 * @param {RemoteWriter} remote
 */
function release (remote) {
  remote.isHolding = false
  remote.settle()
}

/**
 * @param {RemoteWriter} remote
 * @param {import('../write/writer').Writer} writer
 * @param {Frame} frame
 * @param {{ blockSize: number, checksum: boolean }} rules by which the log is packed
 * @param {import('./frames').Run[]} own those that are with the writer
 */
function append (remote, writer, frame, rules, own) {
  const count = frame.count - frame.acknowledged
  const records = frame.buffer.subarray(frame.position, frame.size)
  const run = { first: frame.first + frame.acknowledged, count, seq: -1 }
  const batch = {
    records,
    first: run.first,
    count,
    bytes: records.length - count * layout.FRAME_SIZE,
    isForced: (frame.flags & FORCED) !== 0,
    isAtomic: (frame.flags & ATOMIC) !== 0,
    size: frame.size
  }
  own.push(run)
  run.seq = writer.appender.appendFramed(batch, false, (err) => {
    own.shift()
    // one that fails takes all behind it along
    if (err && remote.packer.frames.includes(frame)) remote.onnack(remote.epoch, err)
    else if (!err) remote.onack(run, rules)
    remote.settle()
  })
}

/**
 * @param {RemoteWriter['counts']} counts of the client until now
 * @returns {Partial<RemoteWriter['counts']>} what the owner's writer starts from, before it gets what is in flight
 */
function startingCounts ({ appended, written, synced, rejected, inFlight, writes, syncs }) {
  return {
    appended: { records: appended.records - inFlight.records, bytes: appended.bytes - inFlight.bytes },
    written: { ...written },
    synced: { ...synced },
    rejected: { ...rejected },
    writes,
    syncs
  }
}

module.exports = { adopt, release }
