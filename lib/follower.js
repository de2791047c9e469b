'use strict'

// What stands in the writer's place in a log that is opened read-only: it follows
// the file as another process appends to it. Whole records only are shown.

const layout = require('./block')
const errors = require('./errors')
const { Block } = require('./blocks')

class Follower {
  /**
   * @param {import('./file').LogFile} file
   * @param {import('./io').Io} io
   * @param {import('./blocks').Blocks} blocks
   * @param {number} lastSeq
   * @param {{ onadvance: (seq: number) => void, onfailure: (err: Error) => void }} listeners
   */
  constructor (file, io, blocks, lastSeq, { onadvance, onfailure }) {
    this.io = io
    this.filename = file.filename
    this.blocks = blocks
    this.lastSeq = lastSeq
    this.onadvance = onadvance
    this.onfailure = onfailure
    this.size = -1
    this.running = false
    this.again = false
    this.closed = false
    this.watch = file.watch === null ? null : file.watch(() => this.look())
  }

  /** Looks whether the file has grown; one look at a time. */
  look () {
    if (this.closed) return
    this.again = true
    if (this.running) return
    this.running = true
    this.lookAgain().catch(err => {
      if (this.closed) return
      this.close()
      process.nextTick(this.onfailure, err)
    })
  }

  async lookAgain () {
    while (this.again && !this.closed) {
      this.again = false
      const before = this.lastSeq
      await this.advance()
      if (this.lastSeq !== before && !this.closed) process.nextTick(this.onadvance, this.lastSeq)
    }
    this.running = false
  }

  async advance () {
    const { blocks } = this
    const { blockSize } = blocks
    const size = await this.io.size()
    if (size < blocks.end) throw errors.shrunk(this.filename, blocks.end, size)
    if (size === this.size) return
    this.size = size
    while (true) {
      const { tail } = blocks
      const start = tail.number * blockSize
      const available = Math.min(blockSize, size - start)
      if (available <= tail.end) return
      const bytes = await this.io.read(start, available)
      const isSealed = available === blockSize && layout.check(bytes, blocks.checksum) === null
      const end = isSealed ? layout.paddingStart(bytes) : layout.walk(bytes, 0, Math.min(available, blockSize - layout.paddingSize(false)))
      if (end < tail.end) {
        throw errors.corrupt(this.filename, tail.number, blockSize, end, 'it is not what was read of it before; was the file replaced?')
      }
      if (end > 0) this.lastSeq = start + layout.previousPosition(bytes, end)
      tail.buffer = bytes
      tail.end = end
      tail.starts = null
      tail.indexed = 0
      if (!isSealed) {
        // a block that is being written just now is looked at again when it has changed
        if (available === blockSize) this.size = -1
        return
      }
      tail.sealed = true
      blocks.add(tail)
      blocks.tail = new Block(tail.number + 1, Buffer.alloc(0), 0, false)
    }
  }

  close () {
    this.closed = true
    this.watch?.stop()
  }
}

module.exports = { Follower }
