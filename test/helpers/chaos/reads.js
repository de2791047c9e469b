'use strict'

// Reads of a log that changes meanwhile, compared with what a live stream has seen of it: nothing else is there, and of that, only
// what was deleted or trimmed is missing.

const { collect, event } = require('../reading')
const { isIntact, numberOf } = require('../numbered')

const MOST = 60
/** The record is gone. */
const GONE = ['flumelog:deleted', 'flumelog:trimmed']
/** The log was compacted or closed meanwhile, or its owner has not said where it ends. */
const OVER = ['flumelog:compacted', 'flumelog:closed', 'flumelog:replaced', 'flumelog:unreachable']

/**
 * @typedef {{ number: number, seq: number }} Known
 * @typedef {{ onwrong: (why: string) => void, ongone: (number: number, how: string) => void }} Told
 */

class Reads {
  /**
   * @param {any} log
   * @param {import('./following').Following} following
   * @param {any} random
   * @param {Told} told
   */
  constructor (log, following, random, { onwrong, ongone }) {
    this.log = log
    this.following = following
    this.random = random
    this.onwrong = onwrong
    this.ongone = ongone
  }

  /** @returns {{ what: string, read: (done: () => void) => Promise<void> }} a read, and what it is */
  choose () {
    const { random, following: { recent, id } } = this
    const first = random.below(recent.length)
    const known = recent.slice(first, first + 1 + random.below(MOST))
    const read = random.pick([this.get, this.getPrevious, this.forward, this.forward, this.backward, this.search])
    const what = `read ${read.name} ${JSON.stringify([known[0], known.at(-1)])} in ${id}`
    return {
      what,
      read: async (done) => {
        const { log } = this
        if (known.length > 0 && id === log.id) {
          await read.call(this, known, id).catch(err => this.onwrong(`${what}, now ${log.id}, which starts at ${log.start} and ends with ${log.since.value}: ${err.stack}`))
        }
        done()
      }
    }
  }

  /** Whether what was read says nothing, since seqs are others now. */
  isOver (id, code) {
    return this.log.id !== id || OVER.includes(code)
  }

  /** @param {Known[]} known */
  async get ([{ number, seq }], id) {
    const [err, value] = await event(resolve => this.log.get(seq, (...answer) => resolve(answer)))
    if (this.isOver(id, err?.code)) return
    if (GONE.includes(err?.code)) return this.ongone(number, `get ${err.code}`)
    if (err) throw err
    this.expect(numberOf(whole(value)) === number, `${number} is ${numberOf(value)}`)
  }

  async getPrevious (known, id) {
    const last = known.at(-1)
    const [err, value, seq] = await event(resolve => this.log.getPrevious(last.seq, (...answer) => resolve(answer)))
    if (this.isOver(id, err?.code)) return
    if (err?.code === 'flumelog:trimmed') return this.ongone(last.number, 'getPrevious')
    // all before it may be gone
    if (err && err.code !== 'flumelog:not-found') throw err
    if (!err) this.expect(seq < last.seq, `${seq} is not before it`)
    this.compare(known.slice(0, -1), err || seq < known[0].seq ? [] : [{ seq, value }], err ? 0 : Math.max(seq, known[0].seq), 'getPrevious')
  }

  async forward (known, id) {
    const [first, last] = [known[0], known.at(-1)]
    return this.range(known, id, { gte: first.seq, lte: last.seq })
  }

  async backward (known, id) {
    const [first, last] = [known[0], known.at(-1)]
    return this.range(known, id, { gte: first.seq, lte: last.seq, reverse: true })
  }

  async range (known, id, options) {
    const { random } = this
    const limit = random.pick([0, 0, 1, 5])
    const found = await collect(this.log, { ...options, limit, cache: random() < 0.7 }).catch(err => err)
    if (this.isOver(id, found.code)) return
    if (found.code === 'flumelog:trimmed') return this.ongone(known[0].number, 'stream')
    if (found instanceof Error) throw found
    const isFull = limit !== 0 && found.length === limit
    if (options.reverse) this.compare(known, found.reverse(), isFull ? found[0].seq : 0, 'backward')
    else this.compare(isFull ? known.filter(({ seq }) => seq <= found.at(-1).seq) : known, found, 0, 'forward')
  }

  async search ([{ number, seq: wanted }], id) {
    const [err, seq, value] = await event(resolve => this.log.search((value, seq) => {
      whole(value)
      return seq - wanted
    }, (...answer) => resolve(answer)))
    if (this.isOver(id, err?.code)) return
    if (err?.code === 'flumelog:not-found') return this.ongone(number, 'search')
    // a trim overtook it
    if (err?.code === 'flumelog:trimmed') return
    if (err) throw err
    this.expect(seq >= wanted, `${seq} is before it`)
    if (seq > wanted) this.ongone(number, 'search')
    else this.expect(numberOf(whole(value)) === number, `${number} is ${numberOf(value)}`)
  }

  /**
   * @param {Known[]} known in order
   * @param {Array<{ seq: number, value: Buffer }>} found in order
   * @param {number} from what is before this was not asked for
   * @param {string} how
   */
  compare (known, found, from, how) {
    const rest = [...known].filter(({ seq }) => seq >= from)
    for (const { seq, value } of found) {
      while (rest.length > 0 && rest[0].seq < seq) this.ongone(rest.shift().number, how)
      this.expect(rest[0]?.seq === seq, `${how}: at ${seq} is record ${numberOf(whole(value))}, which was not seen${this.following.has(numberOf(value)) ? ' there' : ''}; between ${JSON.stringify([found.map(({ seq }) => seq), known.map(({ seq }) => seq)])}`)
      const { number } = rest.shift()
      this.expect(numberOf(whole(value)) === number, `${how}: at ${seq}, ${number} is ${numberOf(value)}`)
    }
    for (const { number } of rest) this.ongone(number, how)
  }

  expect (isSo, why) {
    if (!isSo) throw new Error(why)
  }
}

/** @param {Buffer} value */
function whole (value) {
  if (!isIntact(value)) throw new Error('it is no whole record')
  return value
}

module.exports = { Reads, OVER, GONE }
