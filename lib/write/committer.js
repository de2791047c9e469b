'use strict'

// Commits what is packed: groups of records are written, made durable as far as their callers want, and acknowledged together; a write
// that fails is rolled back. One of the operations of the writer, whose states these are (see writer.js).

const errors = require('../errors')
const { promised } = require('../callbacks')
const { sizeOf } = require('../storage/buffers')
const { MAX_WRITE } = require('./packer')

/**
 * @typedef {(err?: Error | null) => void} Done
 * @typedef {import('../format/block').Block} Block
 * @typedef {import('./commit-group').CommitGroup} CommitGroup
 */

class Committer {
  /**
   * @param {import('./writer').Writer} writer
   * @param {number} lastSeq the last record's, -1 if there is none
   * @param {(seq: number) => void} onacknowledged the log's last record is now this one, and readers see it
   */
  constructor (writer, lastSeq, onacknowledged) {
    const { file, blocks, packer, appender } = writer
    this.writer = writer
    this.file = file
    this.blocks = blocks
    this.packer = packer
    this.appender = appender
    this.waiters = appender.waiters
    this.onacknowledged = onacknowledged
    this.written = this.acknowledged = blocks.end
    /** The end of the write in progress. */
    this.target = this.written
    /** The last seq that `onacknowledged` was given. */
    this.announcedSeq = lastSeq
    this.onwrite = this.onwrite.bind(this)
  }

  /** An empty batch has nothing to be written, but it may ask for a sync. */
  settleEmpty () {
    this.waiters.endGroup()
    this.settle()
  }

  /** Whether the file may be written to. Appends that are made while it is prepared can seal the block with deletions. */
  get isReady () {
    const { metadata, deletions } = this.writer
    return !metadata.mustBeWritten && !deletions.mustPrecede()
  }

  prepare () {
    if (this.isReady) return this.write()
    this.writer.enter('preparing')
    this.getReady()
  }

  getReady () {
    this.after(this.makeReady(), () => this.isReady ? this.write() : this.getReady())
  }

  async makeReady () {
    const { metadata, deletions } = this.writer
    if (deletions.mustPrecede()) await deletions.flush()
    await metadata.write()
  }

  /**
   * @param {Promise<void>} step if it fails, the write is rolled back
   * @param {() => void} next called when it has succeeded
   */
  after (step, next) {
    step.then(() => null, err => err).then(err => process.nextTick(() => {
      if (this.writer.failure !== null) this.writer.becomeIdle()
      else if (err !== null) this.rollBack(err)
      else next()
    }))
  }

  write () {
    const { packer, waiters, written, writer } = this
    writer.enter('writing')
    const problem = writer.clients.flush()
    if (problem !== null) return this.rollBack(problem)
    if (this.file.metadata.isLong) writer.metadata.considerMove(Infinity)
    // what waits for a moment at which no group is written in part would wait for as long as appends do not pause
    const mustEnd = writer.operations.length > 0
    const buffers = packer.nextWrite(written, mustEnd ? waiters.groupEnd(written + MAX_WRITE) : packer.end)
    this.target = written + sizeOf(buffers)
    if (packer.end <= this.target) waiters.endGroup()
    this.appender.counts.writes++
    this.file.writeMany(written, buffers, this.onwrite)
  }

  /** @param {Error | null | undefined} err */
  onwrite (err) {
    const { writer } = this
    if (writer.failure !== null) return writer.becomeIdle()
    if (err) return this.rollBack(err)
    this.written = this.target
    if (this.packer.withheld === -1) return this.settle()
    writer.enter('completing')
    this.after(this.complete(), () => this.settle())
  }

  /** Writes the length that was withheld, which brings all atomic batches of the write into the log, and makes it durable. */
  async complete () {
    const { file, packer: { withheld, withheldLength }, writer: { durability } } = this
    await promised(cb => durability.syncTo(this.written, cb))
    await promised(cb => file.write(withheld, withheldLength, cb))
    await promised(cb => durability.syncAll(cb))
  }

  /** Acknowledges written records, after making them durable as far as necessary. */
  settle () {
    const { writer } = this
    const { durability } = writer
    const end = durability.requiredSync(this.written, this.appender.syncTo)
    if (durability.synced >= end) return this.acknowledge()
    writer.enter('settling')
    durability.syncTo(end, (err) => err ? writer.becomeIdle() : this.acknowledge())
  }

  /** Moves the end of the log, as callers and readers see it, up to `written`. */
  acknowledge () {
    const { writer } = this
    const { durability } = writer
    const groups = this.waiters.acknowledge(this.written)
    this.appender.countAcknowledged(groups)
    if (groups.length > 0) this.reveal(groups[groups.length - 1])
    if (durability.synced >= this.acknowledged) durability.noteSynced()
    durability.consider()
    // before callers are told
    if (groups.length > 0) writer.metadata.publish()
    writer.becomeIdle()
  }

  /** @param {CommitGroup} group the last one that is acknowledged */
  reveal ({ end, lastSeq }) {
    this.acknowledged = end
    this.appender.lastSeq = lastSeq
    const filled = this.packer.reveal(end)
    for (const block of filled) this.keepOrRecycle(block)
    this.blocks.tail = this.packer.tail
    if (filled.length > 0) this.writer.retention?.consider()
  }

  /**
   * Blocks that nobody has read do not take the place of those that somebody has.
   * @param {Block} block that is full and acknowledged
   */
  keepOrRecycle (block) {
    const { blocks, packer } = this
    if (block.wasRead || blocks.hasRoom(blocks.sequentialShare)) blocks.add(block)
    else packer.recycle(block)
  }

  /** Answers the callers whose offset is reached; starts the fsync that others wait for. */
  settleWaiters () {
    const { waiters, acknowledged, written, writer: { durability } } = this
    const { synced } = durability
    waiters.settle({ acknowledged, synced })
    if (waiters.syncWanted(Math.min(acknowledged, written)) > synced) durability.start()
  }

  /** Readers see the new end before callers are told of it. */
  answer () {
    const { lastSeq } = this.appender
    if (this.announcedSeq !== lastSeq) {
      this.announcedSeq = lastSeq
      this.onacknowledged(lastSeq)
    }
    this.waiters.answer()
  }

  /**
   * A write failed: the file is truncated to `acknowledged`, and unacknowledged appends get the error. They get
   * it when that is durable, so that a record whose append failed is not there after a kill or a power cut, and
   * neither is mixed with what is written in its place.
   * Appends made in between fail as well: they would follow a gap.
   * @param {Error} err
   */
  rollBack (err) {
    this.writer.enter('rollingBack')
    if (errors.isNoRoom(err)) this.makeRoom()
    // of a batch that takes several writes, some may be in the file already
    const isExtended = this.target > this.acknowledged
    this.written = this.target = this.acknowledged
    this.writer.durability.rollBack(this.acknowledged)
    const finish = () => {
      if (this.writer.failure === null) this.rejectUnacknowledged(err)
      this.writer.becomeIdle()
    }
    if (isExtended) this.truncate(finish)
    else finish()
  }

  /** The disk is full: what has been trimmed is freed at once, and what retention does not keep is trimmed. */
  makeRoom () {
    this.writer.trimmer.freeSoon()
    this.writer.retention?.consider()
  }

  /** @param {Done} cb */
  truncate (cb) {
    const { file, writer: { durability, deletions } } = this
    file.truncate(this.acknowledged, (err) => {
      // recovery may find whole what the failed write has left
      if (err) durability.fail(errors.failed(file.filename, err, 'the truncation after a failed write'))
      deletions.truncated()
      durability.syncAll(cb)
    })
  }

  /**
   * Nothing that is not acknowledged will be stored; its callers get the error.
   * @param {Error} err
   */
  rejectUnacknowledged (err) {
    this.forgetUnacknowledged()
    // not if an fsync has failed: then the file is left as it is, and the next owner finds what is in it
    this.writer.clients.rollBack(this.acknowledged)
    this.appender.countFailed(this.waiters.rollBack(this.acknowledged, err))
    this.settleWaiters()
    this.answer()
  }

  forgetUnacknowledged () {
    this.packer.rollBack()
    this.written = this.target = this.acknowledged
    this.writer.durability.rollBack(this.acknowledged)
    this.appender.syncTo = -1
  }

  /**
   * Another file has taken the log's place.
   * @param {number} end of it
   * @param {number} lastSeq of it
   */
  moveTo (end, lastSeq) {
    this.written = this.acknowledged = this.target = end
    this.announcedSeq = lastSeq
  }
}

module.exports = { Committer }
