'use strict'

// Removes many records of a log at once, of whichever process: ranges, all of some blocks soon after they were appended, and all before a
// record. What is about to be removed is told before.

const { collect, event } = require('../reading')
const { numberOf } = require('../numbered')
const { OVER, GONE } = require('./reads')

/** Bytes, at most, that are deleted at once. */
const MOST = 40000

class Removals {
  /**
   * @param {any} log
   * @param {any} random
   * @param {(message: any) => void} tellNow
   */
  constructor (log, random, tellNow) {
    this.log = log
    this.random = random
    this.tellNow = tellNow
  }

  /**
   * All between two records.
   * @param {number} from
   * @param {number} to
   * @param {(err?: any) => void} done
   */
  range (from, to, done) {
    if (from > to) return this.range(to, from, done)
    this.remove(from, Math.min(to, from + MOST), this.random() < 0.7, done)
  }

  /**
   * All in the block of a record, or in some up to it: they become holes.
   * @param {number} seq
   * @param {(err?: any) => void} done
   */
  blocks (seq, done) {
    const { log: { blockSize }, random } = this
    const block = seq - seq % blockSize
    const first = Math.max(0, block - blockSize * random.below(Math.max(2, Math.min(6, MOST / blockSize))))
    this.remove(first, random.pick([seq, block - 1, block + blockSize - 1]), random() < 0.5, done)
  }

  async remove (gte, lte, isRange, done) {
    const { log } = this
    const { id } = log
    // what is there now: nothing is appended between
    const found = await collect(log, { gte, lte: Math.min(lte, log.since.value) }).catch(err => err)
    if (log.id !== id || OVER.includes(found.code) || GONE.includes(found.code)) return done()
    if (found instanceof Error) return done(found)
    if (found.length === 0) return done()
    const numbers = found.map(({ value }) => numberOf(value))
    const seqs = found.map(({ seq }) => seq)
    this.tellNow({ what: 'deleting', numbers })
    log.del(isRange ? { gte: seqs[0], lt: seqs.at(-1) + 1 } : seqs, (err) => {
      if (err && (OVER.includes(err.code) || GONE.includes(err.code))) return done()
      if (err) return done(err)
      this.tellNow({ what: 'deleted', numbers })
      if (this.random() < 0.9) return done()
      log.reclaim(err => done(err?.code === 'flumelog:closed' ? null : err))
    })
  }

  /**
   * @param {{ number: number, seq: number }} record that stays
   * @param {(err?: any) => void} done
   */
  async before ({ number, seq }, done) {
    const { log } = this
    const { id } = log
    this.tellNow({ what: 'trimming', number })
    const [err, start] = await event(resolve => log.trim({ lt: seq }, (...answer) => resolve(answer)))
    if (err) return done(OVER.includes(err.code) ? null : err)
    if (log.id === id) this.tellNow({ what: 'trimmed', start, id })
    done()
  }
}

module.exports = { Removals }
