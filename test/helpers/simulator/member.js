'use strict'

// A process that uses the log, and what it does with it. Each call is compared with the model when it is answered.

/** Codes of errors that a call may get though nothing is wrong with the log. */
const EXPECTED = new Set(['flumelog:closed', 'flumelog:unreachable', 'flumelog:compacted', 'flumelog:deleted', 'flumelog:trimmed', 'flumelog:replaced', 'flumelog:locked', 'flumelog:aborted'])
/** Codes that say that this opening of the log is of no use any more. */
const FINAL = new Set(['flumelog:closed', 'flumelog:replaced', 'flumelog:failed'])

/** @typedef {import('./model').Entry} Entry */

class Member {
  /**
   * @param {import('./simulation').Simulation} simulation
   * @param {number} number
   * @param {'shared' | 'alone' | 'reader'} role
   */
  constructor (simulation, number, role) {
    this.simulation = simulation
    this.number = number
    this.role = role
    this.process = simulation.world.start()
    /** @type {any} */
    this.log = null
    this.isBusy = false
    /** @type {Set<string>} */
    this.pending = new Set()
    this.appended = 0
    /** @type {LiveStream[]} */
    this.live = []
    /** What streams gave that have ended, in the order of the log. @type {Array<{ what: string, records: Array<{ seq: number, text: string }> }>} */
    this.finished = []
  }

  get name () {
    return `${this.role} ${this.number}`
  }

  get isOpen () {
    return this.log !== null && this.process.isAlive && !this.isBusy
  }

  note (line) {
    this.simulation.world.note(`${this.name}: ${line}`)
  }

  problem (line) {
    this.simulation.world.problem(`${this.name}: ${line}`)
  }

  /**
   * @param {string} what
   * @param {() => Promise<void>} run
   */
  start (what, run) {
    const { process } = this
    const key = `${what} (${this.simulation.calls++})`
    this.note(what)
    this.pending.add(key)
    run().then(() => {
      if (process.isAlive) this.note(`${what}: done`)
    }, (err) => {
      if (!process.isAlive) return
      this.note(`${what}: ${err.code ?? err.stack} ${err.message}`)
      if (FINAL.has(err.code)) this.isBroken = true
      if (!EXPECTED.has(err.code) && !this.simulation.isExpected(err, this, what)) this.problem(`${what} got ${err.stack}`)
    }).finally(() => { this.pending.delete(key) })
  }

  open () {
    const { simulation, process } = this
    this.isBusy = true
    this.isBroken = false
    this.start('open', async () => {
      try {
        const { open } = process.require('./promises')
        const log = await open(simulation.filename, this.role === 'reader' ? { ...simulation.readOptions, readOnly: true } : { ...simulation.options, shared: this.role === 'shared' })
        if (process.isAlive) this.log = log
      } finally {
        this.isBusy = false
      }
    })
  }

  close () {
    const { log } = this
    this.isBusy = true
    this.start('close', async () => {
      const synced = this.startSync()
      try {
        await log.close()
        synced()
      } finally {
        this.log = null
        this.isBusy = false
      }
    })
  }

  append (count, options, sizes) {
    const { log, simulation } = this
    const { model } = simulation
    const batch = options.atomic ? `${this.number}:${this.appended}` : null
    /** @type {Entry[]} */
    const entries = sizes.map((size) => {
      const n = this.appended++
      return model.add(`${this.number}:${n}:`.padEnd(size, 'x'), this.number, n, batch)
    })
    this.start(`append ${entries[0].n} to ${entries.at(-1)?.n}${options.atomic ? ', atomic' : ''}${options.sync ? ', sync' : ''}`, async () => {
      const values = entries.map(({ text }) => text)
      let seq
      try {
        seq = await log.append(count === 1 ? values[0] : values, options)
      } catch (err) {
        if (!this.process.isAlive) return
        const isUnknown = ['flumelog:unreachable', 'flumelog:replaced', 'flumelog:failed'].includes(err.code)
        for (const entry of entries) if (entry.state === 'pending') entry.state = isUnknown ? 'unknown' : 'refused'
        throw err
      }
      if (!this.process.isAlive) return
      const { id } = log.flumelog
      for (const entry of entries) {
        entry.state = 'acknowledged'
        if (options.sync || options.atomic || simulation.options.sync === 'always') entry.isDurable = true
      }
      if (options.atomic) entries.forEach((entry, i) => Object.assign(entry, { seq: seq[i], id }))
      else Object.assign(/** @type {Entry} */ (entries.at(-1)), { seq, id })
    })
  }

  sync () {
    const { log } = this
    this.start('sync', async () => {
      const synced = this.startSync()
      await log.sync()
      if (this.process.isAlive) synced()
    })
  }

  /** @returns {() => void} to be called when all that was acknowledged until now is durable; to a client, what was acknowledged to it */
  startSync () {
    return this.simulation.model.startSync(this.role === 'reader' ? -1 : this.role === 'shared' ? this.number : null)
  }

  /** @param {Entry} entry of which the seq is known in the log as this member sees it */
  delete (entry) {
    const { log, simulation } = this
    if (entry.deletion === 'no') entry.deletion = 'asked'
    this.start(`del ${entry.seq}`, async () => {
      const before = entry.deletion
      await log.del(entry.seq)
      if (!this.process.isAlive || before === 'acknowledged') return
      entry.deletion = 'acknowledged'
      entry.deletedBy = this.number
      entry.isDeletionDurable = simulation.options.sync === 'always'
    })
  }

  deleteRange (entries, gte, lte) {
    const { log, simulation } = this
    for (const entry of entries) if (entry.deletion === 'no') entry.deletion = 'asked'
    // a client deletes what it knows of
    const isFirst = this.role === 'alone' || log.flumelog.role === 'owner'
    this.start(`del from ${gte} to ${lte}`, async () => {
      await log.del({ gte, lte })
      if (!this.process.isAlive) return
      for (const entry of entries) {
        if (entry.deletion === 'acknowledged' || entry.state !== 'acknowledged' || !(isFirst || entry.writer === this.number)) continue
        entry.deletion = 'acknowledged'
        entry.deletedBy = this.number
        entry.isDeletionDurable = simulation.options.sync === 'always'
      }
    })
  }

  trim (seq) {
    const { log, simulation } = this
    const { id } = log.flumelog
    for (const entry of simulation.model.entries.values()) if (entry.seq === -1 || entry.id !== id || entry.seq < seq) entry.mayBeTrimmed = true
    this.start(`trim ${seq}`, async () => { await log.trim({ lt: seq }) })
  }

  compact () {
    const { log } = this
    this.start('compact', async () => {
      const result = await log.compact()
      this.note(`compacted: ${JSON.stringify(result)}`)
    })
  }

  /** Reads all of the log. @param {boolean} reverse */
  read (reverse) {
    const { log, simulation } = this
    const { model } = simulation
    if (log === null) return
    this.start(`read${reverse ? ', reverse' : ''}`, async () => {
      const id = log.flumelog.id
      // other processes are told of what is acknowledged and deleted a little later
      const isFirst = this.role === 'alone' || log.flumelog.role === 'owner'
      const expected = new Set(model.certain.filter(({ writer }) => isFirst || (this.role === 'shared' && writer === this.number)))
      const deleted = new Set(this.role === 'reader' ? [] : [...model.entries.values()].filter(({ deletion, deletedBy }) => deletion === 'acknowledged' && (isFirst || deletedBy === this.number)))
      const records = await collect(log.stream({ reverse, ...this.pace() }), this)
      if (reverse) records.reverse()
      if (!this.process.isAlive) return
      this.finished.push({ what: `reading${reverse ? ' in reverse' : ''}`, records })
      if (log.flumelog.id !== id) return
      model.check(records, { who: `${this.name} reads${reverse ? ' in reverse' : ''}`, expected, deleted, id })
    })
  }

  pace () {
    return {}
  }

  /** @param {Entry} entry */
  get (entry) {
    const { log } = this
    const { seq, text, id } = entry
    const before = log.flumelog.id
    if (id !== before) return
    this.start(`get ${seq}`, async () => {
      const isDeleted = this.role === 'alone' && entry.deletion === 'acknowledged'
      const isKnown = this.role === 'alone' || log.flumelog.role === 'owner' || entry.writer === this.number
      let value = ''
      try {
        value = String(await log.get(seq))
      } catch (err) {
        // other processes are told of it a little later
        if (err.code === 'flumelog:not-found' && !isKnown) return
        throw err
      }
      if (!this.process.isAlive) return
      if (value !== text) this.problem(`get ${seq} gave ${value.slice(0, 40)}, not ${text.slice(0, 40)}`)
      if (isDeleted && log.flumelog.id === before) this.problem(`get ${seq} gave a deleted record`)
    })
  }

  follow () {
    const stream = new LiveStream(this)
    this.live.push(stream)
    stream.run()
  }
}

/** A stream of all that is there, and of all that is appended later. */
class LiveStream {
  /** @param {Member} member */
  constructor (member) {
    this.member = member
    /** @type {Array<{ seq: number, text: string }>} */
    this.records = []
    this.isOver = false
    this.log = member.log
  }

  async run () {
    const { member, log } = this
    const { process } = member
    member.note('follows')
    try {
      for await (const { seq, value } of log.stream({ live: true })) {
        if (!process.isAlive) return
        this.records.push({ seq, text: String(value) })
        if (member.simulation.world.random() < 0.02) await member.simulation.pause(process)
      }
    } catch (err) {
      if (process.isAlive && !EXPECTED.has(err.code) && !member.simulation.isExpected(err, member)) member.problem(`a live stream got ${err.stack}`)
      if (process.isAlive) member.note(`its live stream ends: ${err.code}`)
    }
    this.isOver = true
  }
}

async function collect (stream, member) {
  const records = []
  const isSlow = member.simulation.world.random() < 0.3
  for await (const { seq, value } of stream) {
    records.push({ seq, text: String(value) })
    if (isSlow && member.simulation.world.random() < 0.05) await member.simulation.pause(member.process)
  }
  return records
}

module.exports = { Member }
