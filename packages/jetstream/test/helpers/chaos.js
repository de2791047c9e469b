'use strict'

// Programs that use a stream while something happens to its servers, and what they have been told: whether that is true can be seen in the stream.

const IN_FLIGHT = 20
const pause = (/** @type {number} */ milliseconds) => new Promise(resolve => setTimeout(resolve, milliseconds))

/** Appends `WRITER NUMBER`, some at a time, one by one or as arrays, until it is stopped, or its log has ended. */
class Writer {
  /** @param {any} log @param {string} name @param {any} random */
  constructor (log, name, random) {
    this.log = log
    this.name = name
    this.random = random
    this.appended = 0
    /** By record: its seq; -1: it is stored, and the seq is not known; or the code of the error. @type {Map<string, number | string>} */
    this.outcomes = new Map()
    this.acknowledged = 0
    /** Calls without an answer. */
    this.open = 0
    this.longest = 0
    this.isStopped = false
    this.done = Promise.all(Array.from({ length: IN_FLIGHT }, () => this.run()))
  }

  /** @returns {string} of some bytes, or some thousand */
  next () {
    const { random } = this
    const padding = random.below(8) === 0 ? random.below(4000) : 0
    return `${this.name} ${this.appended++} ${'x'.repeat(padding)}`
  }

  async run () {
    const { random } = this
    while (!this.isStopped) {
      const texts = Array.from({ length: random.below(4) === 0 ? 1 + random.below(5) : 1 }, () => this.next())
      const start = performance.now()
      this.open++
      try {
        const seq = await this.log.append(texts)
        // an array may be divided between batches
        for (const text of texts) this.outcomes.set(text, text === texts.at(-1) ? seq : -1)
        this.acknowledged++
      } catch (err) {
        for (const text of texts) this.outcomes.set(text, err.code)
        if (err.code === 'flumelog:replaced') this.isStopped = true
      }
      this.open--
      this.longest = Math.max(this.longest, performance.now() - start)
      await pause(random.below(40))
    }
  }

  /** @param {number} count of calls that are to be acknowledged */
  async more (count) {
    const until = this.acknowledged + count
    while (this.acknowledged < until && !this.isStopped) await pause(5)
  }

  async stop () {
    this.isStopped = true
    await this.done
  }

  /** @param {{ seq: number, value: string }[]} stored @returns {string[]} what is wrong */
  problems (stored) {
    const own = stored.filter(({ value }) => value.startsWith(`${this.name} `))
    const numbers = own.map(({ value }) => Number(value.split(' ')[1]))
    const problems = numbers.flatMap((number, i) => i > 0 && number <= numbers[i - 1] ? [`${number} follows ${numbers[i - 1]}`] : [])
    const seqs = new Map(own.map(({ seq, value }) => [value, seq]))
    for (const [text, outcome] of this.outcomes) {
      const seq = seqs.get(text)
      const isRight = typeof outcome === 'number' ? (outcome === -1 ? seq !== undefined : seq === outcome) : outcome === 'flumelog:unreachable' || (outcome === 'ENOSPC' && seq === undefined)
      if (!isRight) problems.push(`${text.slice(0, 40)} got ${outcome}, and is at ${seq}`)
    }
    return problems
  }
}

/** Reads records that were acknowledged. */
class Getter {
  /** @param {any} log @param {Writer[]} writers @param {any} random */
  constructor (log, writers, random) {
    this.got = 0
    /** Calls that no server has answered in time. */
    this.unreachable = 0
    this.longest = 0
    /** What was wrong. @type {string[]} */
    this.problems = []
    /** The code of the error with which the log has ended. @type {string | null} */
    this.end = null
    this.isStopped = false
    this.done = this.run(log, writers, random)
  }

  async run (log, writers, random) {
    while (!this.isStopped) {
      await pause(random.below(40))
      const known = [...random.pick(writers).outcomes]
      if (known.length === 0) continue
      const [text, seq] = random.pick(known)
      if (typeof seq !== 'number' || seq === -1) continue
      const start = performance.now()
      const value = await log.get(seq).catch((/** @type {any} */ err) => err)
      this.longest = Math.max(this.longest, performance.now() - start)
      if (value.code === 'flumelog:replaced') {
        this.end = value.code
        return
      }
      if (value === text) this.got++
      else if (value.code === 'flumelog:unreachable') this.unreachable++
      else this.problems.push(`${seq} is ${value.code ?? value}, and ${text.slice(0, 40)} was acknowledged`)
    }
  }

  async stop () {
    this.isStopped = true
    await this.done
  }
}

/** A log in a file that grows and of which records are deleted, until it is stopped. */
class Source {
  /** @param {any} log */
  constructor (log) {
    this.log = log
    this.appended = 0
    this.deleted = 0
    this.isStopped = false
    this.done = this.run()
  }

  async run () {
    for (; !this.isStopped; this.appended++) {
      const seq = await this.log.append(`record ${this.appended}`)
      if (this.appended % 50 === 0) {
        await this.log.del(seq)
        this.deleted++
      }
      await pause(5)
    }
  }

  async stop () {
    this.isStopped = true
    await this.done
  }
}

module.exports = { Writer, Getter, Source, pause }
