'use strict'

// Reads of one record: the one at an offset, and the one before it.

const layout = require('../format/layout')
const errors = require('../errors')
const { format } = require('../options')
const { openCursor, RECORD, WAITING, FAILED } = require('./cursor')

class RecordReader {
  constructor ({ blocks, decode }) {
    this.blocks = blocks
    this.decode = decode ?? ((data) => data)
    this.filename = blocks.file.filename
    this.depth = 0
  }

  mustWait () { return this.depth > 64 }

  postpone (run) { process.nextTick(run) }

  get (seq, cb) {
    const { blocks } = this
    const problem = problemOf(blocks, seq)
    if (problem !== null) return process.nextTick(cb, problem)
    const number = Math.floor(seq / blocks.blockSize)
    const block = blocks.take(number)
    if (block !== undefined) this.answer(null, block, seq, cb)
    else blocks.getRecord(number, seq - number * blocks.blockSize, (data, block) => this.answer(data, block, seq, cb))
  }

  answer (data, block, seq, cb) {
    let value
    try {
      const bytes = data ?? this.dataIn(block, seq)
      if (!layout.isStorable(bytes)) throw errors.deleted(this.filename, seq)
      value = this.decode(bytes, seq)
    } catch (err) {
      return process.nextTick(cb, err)
    }
    this.depth++
    try {
      cb(null, value)
    } finally {
      this.depth--
    }
  }

  dataIn (block, seq) {
    if (block.error !== null) throw block.error
    const position = seq - block.number * this.blocks.blockSize
    if (!block.startsAt(position)) throw errors.notFound(this.filename, seq, 'it is not where a record starts')
    return block.dataAt(position)
  }

  getPrevious (seq, cb) {
    const { blocks } = this
    if (seq === blocks.end) return this.walkBack(seq, cb)
    const problem = problemOf(blocks, seq)
    if (problem !== null) return process.nextTick(cb, problem)
    blocks.get(Math.floor(seq / blocks.blockSize), true, (err, block) => {
      if (err) cb(err)
      else if (block.startsAt(seq % blocks.blockSize)) this.walkBack(seq, cb)
      else cb(errors.notFound(this.filename, seq, 'it is not where a record starts'))
    })
  }

  walkBack (seq, cb) {
    const { blocks, filename } = this
    const look = () => {
      let found = walk.next()
      while (found === RECORD && walk.isDeleted()) found = walk.next()
      if (found === WAITING) return
      if (found === FAILED) return cb(walk.error)
      if (found !== RECORD) return cb(errors.notFound(filename, seq, 'there is none before it'))
      let value
      try {
        value = this.decode(walk.data(), walk.seq)
      } catch (err) {
        return cb(err)
      }
      walk.stop()
      cb(null, value, walk.seq)
    }
    const walk = openCursor(blocks, { min: -Infinity, max: seq - 1, reverse: true, keep: true }, look)
    look()
  }
}

function problemOf (blocks, seq) {
  if (!Number.isInteger(seq) || Number(seq) < 0) {
    return errors.invalid(`seq must be the offset of a record, an integer of 0 or more; it is ${format(seq)}`)
  }
  if (Number(seq) >= blocks.end) {
    const { number, error, buffer } = blocks.tail
    if (error !== null && Number(seq) < number * blocks.blockSize + buffer.length) return error
    return errors.notFound(blocks.file.filename, Number(seq), `the log ends at ${blocks.end}`)
  }
  return null
}

module.exports = { RecordReader, problemOf }
