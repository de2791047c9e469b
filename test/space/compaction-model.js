'use strict'

// Random appends, deletions, trims, streams and compactions, many at once, beside an array. `RUNS=1000 SEED=1 node test/space/compaction-model.js`

const fc = require('fast-check')
const tape = require('tape')
const { open } = require('../../promises')
const { processFolder } = require('../helpers/folder')
const { thorough } = require('../helpers/thorough')

const RUNS = Number(process.env.RUNS ?? (thorough ? 12 : 6))
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)

const part = fc.integer({ min: 0, max: 999 }).map(n => n / 1000)
// large ones only where the log takes them
const size = fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 8, max: 110 }) }, { weight: 1, arbitrary: fc.integer({ min: 111, max: 6000 }) })
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('append'), sizes: fc.array(size, { minLength: 1, maxLength: 6 }), atomic: fc.boolean() }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('del'), at: fc.array(part, { minLength: 1, maxLength: 6 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delRange'), at: part, to: part }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('trim'), at: part }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('stream'), reverse: fc.boolean(), live: fc.boolean() }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('read'), which: part, count: fc.integer({ min: 1, max: 30 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('compact') }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait') }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('turn') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen') }) }
)
const setting = fc.record({
  blockSize: fc.constantFrom(512, 700, 4096),
  checksum: fc.boolean(),
  large: fc.boolean(),
  cacheSize: fc.constantFrom(0, 2000, 1 << 20),
  sync: fc.constantFrom('always', 'interval', 'never'),
  blocking: fc.boolean()
})

tape(`a log that is compacted again and again behaves like an array, in ${RUNS} random runs`, async (t) => {
  t.comment(`SEED=${SEED} repeats it, as far as the order of I/O can be repeated`)
  const folder = processFolder()
  let files = 0
  const counts = { compactions: 0, read: 0, trimmed: 0, large: 0 }
  let problem = null
  await fc.assert(fc.asyncProperty(setting, fc.array(step, { minLength: 20, maxLength: 60 }), (settings, steps) => {
    return new Run(`${folder}/log-${++files}`, settings, counts).make(steps).catch(err => {
      problem ??= err.stack
      throw err
    })
  }), { numRuns: RUNS, seed: SEED, endOnFailure: true }).catch(err => t.fail(`${problem} ${err.message}`))
  t.ok(counts.compactions > 0 && counts.read > 0, JSON.stringify(counts))
})

class Run {
  constructor (file, settings, counts) {
    this.file = file
    this.settings = settings
    this.counts = counts
    /** In the order in which they were appended: value, seq, whether it is being deleted. */
    this.records = []
    this.pending = []
    this.streams = []
    this.compacting = null
  }

  async make (steps) {
    this.log = await open(this.file, this.settings)
    for (const step of [{ do: 'append', sizes: [20, 30, 40] }, ...steps, { do: 'wait' }, { do: 'compact' }, { do: 'wait' }]) await this[step.do](step)
    for (const stream of this.streams) await this.finish(stream)
    await this.check()
    await this.log.close()
  }

  append ({ sizes: drawn, atomic }) {
    const sizes = drawn.map(size => this.settings.large ? size : Math.min(size, 110))
    this.counts.large += sizes.filter(size => size > this.settings.blockSize).length
    const made = sizes.map(size => ({ value: `${this.records.length} `.padEnd(size, '-'), seq: null, isDeleting: false }))
    made.forEach((record, i) => { record.value = `${this.records.length + i} `.padEnd(sizes[i], '-') })
    this.records.push(...made)
    const appended = this.log.append(made.map(({ value }) => value), { atomic: atomic && sizes.reduce((a, b) => a + b + 4, 0) < 400 })
    this.pending.push(appended.then(() => made.forEach(record => { record.isThere = true })))
  }

  /** Their seqs are those of now: the log may be compacted at any moment. */
  async current () {
    const found = []
    for await (const { seq, value } of this.log.stream({ fromStart: true })) found.push({ seq, value: String(value) })
    return found
  }

  async del ({ at }) {
    const found = await this.current()
    if (found.length === 0) return
    for (const { seq, value } of at.map(part => found[Math.floor(part * found.length)])) this.delete(value, this.log.del(seq))
  }

  delete (value, deleted) {
    const record = this.records.find(record => record.value === value)
    record.isDeleting = true
    this.pending.push(deleted.then(() => { record.isDeleted = true }, (err) => {
      // compacted since it was read
      if (err.code !== 'flumelog:trimmed') throw err
    }))
  }

  async delRange ({ at, to }) {
    const found = await this.current()
    const [first, last] = [at, to].map(part => Math.floor(part * found.length)).sort((a, b) => a - b)
    if (found.length === 0 || last - first > 20) return
    const { id } = this.log
    const range = found.slice(first, last + 1)
    const deleted = new Promise((resolve, reject) => this.log.flumelog.del({ gte: found[first].seq, lte: found[last].seq }, err => err ? reject(err) : resolve()))
    for (const { value } of range) {
      // of a log that was compacted since, nothing is in the range
      if (id === this.log.id) this.delete(value, deleted)
    }
  }

  /** Some or all of the records before one of them go. */
  async trim ({ at }) {
    const found = await this.current()
    if (found.length === 0) return
    const { seq, value } = found[Math.floor(at * found.length)]
    for (const record of this.records.slice(0, this.records.findIndex(record => record.value === value))) record.mayBeTrimmed = true
    const { start } = this.log
    this.pending.push(this.log.trim({ lt: seq }).then(now => { if (now > start) this.counts.trimmed++ }))
  }

  stream ({ reverse, live }) {
    const source = this.log.flumelog.stream({ reverse, live, fromStart: true })
    this.streams.push({ source, reverse, live, given: [], there: this.records.filter(({ isThere }) => isThere), isOver: false })
  }

  async read ({ which, count }) {
    const stream = this.streams[Math.floor(which * this.streams.length)]
    if (stream === undefined || stream.isOver) return
    for (let n = 0; n < count && !stream.isOver; n++) await this.next(stream)
  }

  next (stream) {
    // a live one that has given all waits
    if (!stream.isWaiting) {
      stream.isWaiting = true
      stream.answered = new Promise((resolve, reject) => stream.source(null, (end, item) => {
        stream.isWaiting = false
        if (end === true) stream.isOver = true
        else if (end) return reject(end)
        else {
          stream.given.push(String(item.value))
          this.counts.read++
        }
        resolve()
      }))
    }
    return Promise.race([stream.answered, new Promise(resolve => setTimeout(resolve, 20))])
  }

  compact () {
    if (this.compacting !== null) return
    this.counts.compactions++
    // without `keep`, nothing happens if no record is deleted
    this.compacting = this.log.compact(this.counts.compactions % 2 ? {} : { keep: () => true }).then(() => { this.compacting = null })
    this.pending.push(this.compacting)
  }

  async wait () {
    await Promise.all(this.pending.splice(0))
  }

  turn () {
    return new Promise(resolve => setImmediate(resolve))
  }

  async reopen () {
    await this.wait()
    for (const stream of this.streams.splice(0)) await this.finish(stream)
    const { id } = this.log
    await this.log.close()
    this.log = await open(this.file, this.settings)
    if (this.log.id !== id) throw new Error(`the id is ${this.log.id}, and was ${id}`)
    await this.check()
  }

  /** Reads what is left; all that was there all the time has been given once, in order. */
  async finish (stream) {
    if (stream.live) {
      // so that it is open
      await this.next(stream)
      this.append({ sizes: [20], atomic: false })
      await this.wait()
    }
    const { value: last } = this.records.at(-1)
    for (let tries = 0; !stream.isOver && !(stream.live && stream.given.at(-1) === last); tries++) {
      if (tries > 2000) throw new Error(`a stream (reverse: ${stream.reverse}, live: ${stream.live}) gives nothing after ${stream.given.map(value => parseInt(value))} of ${this.records.length}; it waits: ${stream.isWaiting}`)
      await this.next(stream)
    }
    const all = this.records.map(({ value }) => value)
    const places = stream.given.map(value => all.indexOf(value))
    // backward, then what is new
    const turn = stream.reverse ? places.findIndex((place, i) => i > 0 && place > places[i - 1]) : 0
    const backward = stream.reverse ? places.slice(0, turn === -1 ? undefined : turn).reverse() : []
    const forward = stream.reverse ? (turn === -1 ? [] : places.slice(turn)) : places
    for (const list of [backward, forward]) list.forEach((place, i) => { if (place === -1 || (i > 0 && place <= list[i - 1])) throw new Error(`${place} after ${list[i - 1]}`) })
    const given = new Set(places)
    if (given.size !== places.length) throw new Error('a record was given twice')
    const expected = stream.live ? this.records : stream.there
    for (const { value, isDeleting, mayBeTrimmed } of expected) {
      if (!isDeleting && !mayBeTrimmed && !stream.given.includes(value)) throw new Error(`${value} was not given, but ${places} of ${all.length}`)
    }
  }

  async check () {
    const found = (await this.current()).map(({ value }) => value)
    let at = 0
    for (const { value, isDeleting, isDeleted, mayBeTrimmed } of this.records) {
      if (found[at] === value) {
        if (isDeleted) throw new Error(`${value} was deleted`)
        at++
      } else if (!isDeleting && !mayBeTrimmed) throw new Error(`${value} is missing, ${found[at]} is there`)
    }
    if (at < found.length) throw new Error(`${found[at]} is there, at ${at}`)
    const { records } = this.log.stats()
    // of large records, the chunks are counted
    if (!this.settings.large && records !== null && records !== found.length) throw new Error(`${records} records are counted, ${found.length} are there`)
  }
}
