'use strict'

// A process that uses the log, and what it does with it. Each call is compared with the model when it is answered.

const { nameOf } = require('./model')

/** Codes of errors that a call may get though nothing is wrong with the log. */
const EXPECTED = new Set(['flumelog:conflict', 'flumelog:closed', 'flumelog:unreachable', 'flumelog:compacted', 'flumelog:deleted', 'flumelog:trimmed', 'flumelog:replaced', 'flumelog:locked', 'flumelog:aborted'])
/** Codes that say that this opening of the log is of no use any more. */
const FINAL = new Set(['flumelog:closed', 'flumelog:replaced', 'flumelog:failed'])

/** @typedef {import('./model').Entry} Entry */

/** Bytes of an array of a client that are stored together. */
const MAX_ARRAY = 1024 * 1024

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
    /** Names of cursors that it reads from. @type {Set<string>} */
    this.cursors = new Set()
    /** Whether it ends by itself. */
    this.isCommand = false
    this.onclosed = (_) => {}
    /** @type {LiveStream[]} */
    this.live = []
    /** What streams gave that have ended, in the order of the log. `shown`: what the log had
     * when they were started. @type {Array<{ what: string, records: Array<{ seq: number, text: string }>, shown: Entry[] }>} */
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
      if (!process.isAlive) return
      this.note(`${what}: done`)
      if (/^(open|compact|trim|backup|del)/.test(what)) this.simulation.strike(this, what, true)
    }, (err) => {
      if (!process.isAlive) return
      this.note(`${what}: ${err.code ?? err.stack} ${err.message}`)
      // a reader goes on when it could not make durable what a cursor is behind of
      if (FINAL.has(err.code) && !(this.role === 'reader' && err.code === 'flumelog:failed')) this.isBroken = true
      if (err.code === 'flumelog:replaced' && this.mustFollow) this.problem(`${what} got ${err.stack}`)
      if (!EXPECTED.has(err.code) && !this.simulation.isExpected(err, this, what)) this.problem(`${what} got ${err.stack}`)
    }).finally(() => { this.pending.delete(key) })
  }

  /** Whether at most one compaction has ended since the one of which this process has the log: that is followed. */
  get mustFollow () {
    const { generation, hadFaults } = this.simulation
    return !hadFaults && this.log !== null && generation.missedBy(this.log.flumelog.id) < 2
  }

  open () {
    const { simulation, process } = this
    this.isBusy = true
    this.isBroken = false
    const { generation, model: { certain, entries } } = simulation
    const { over } = generation
    /** What readers of this opening get, whoever has appended and deleted it: it was acknowledged before. */
    this.foundAtOpen = new Set(certain)
    this.goneAtOpen = new Set([...entries.values()].filter(({ deletion }) => deletion === 'acknowledged'))
    this.opened = new Promise((resolve) => this.start('open', async () => {
      try {
        const { open } = process.require('./promises')
        const log = await open(simulation.filename, this.role === 'reader' ? { ...simulation.readOptions, readOnly: true } : { ...simulation.options, shared: this.role === 'shared' })
        if (!process.isAlive) return
        this.log = log
        await this.checkGeneration()
      } catch (err) {
        // one compaction is followed
        if (err.code === 'flumelog:replaced' && generation.started - over < 2 && !simulation.hadFaults) this.problem(`open got ${err.stack}`)
        throw err
      } finally {
        this.isBusy = false
        resolve(undefined)
      }
    }))
  }

  close () {
    const { log, simulation } = this
    this.isBusy = true
    this.start('close', async () => {
      const synced = this.startSync(this.role === 'shared' && log.flumelog.role !== 'owner')
      try {
        await log.close()
        if (this.process.isAlive) {
          synced()
          simulation.strike(this, 'close', true)
        }
      } finally {
        this.log = null
        this.isBusy = false
        this.onclosed()
      }
    })
  }

  /**
   * The call as a promise. Some are made with a callback that throws, which concerns the caller alone.
   * @param {'append' | 'del' | 'sync' | 'compact'} name
   * @param {...any} args
   */
  call (name, ...args) {
    const { log, process } = this
    if (this.simulation.random() >= 0.05) return log[name](...args)
    let answers = 0
    return new Promise((resolve, reject) => log.flumelog[name](...args, (err, result) => {
      if (++answers > 1) this.problem(`${name} was answered ${answers} times`)
      if (err) reject(err)
      else resolve(result)
      const thrown = new Error(`thrown by a callback of ${name}`)
      process.thrown.add(thrown)
      throw thrown
    }))
  }

  append (count, options, sizes) {
    const { log, simulation } = this
    const { model } = simulation
    const isDurable = options.sync || options.atomic || simulation.options.sync === 'always'
    const batch = options.atomic ? `${this.number}:${this.appended}` : null
    /** @type {Entry[]} */
    const entries = sizes.map((size) => {
      const n = this.appended++
      return model.add(`${this.number}:${n}:`.padEnd(size, 'x'), this.number, n, batch)
    })
    const isOwners = this.role === 'alone' || log.flumelog.role === 'owner'
    for (const entry of entries) entry.isOwners = isOwners
    const { after } = options
    const { over } = simulation.generation
    if (after !== undefined) entries[0].follows = model.at(after, log.flumelog.id)
    this.start(`append ${entries[0].n} to ${entries.at(-1)?.n}${options.atomic ? ', atomic' : ''}${options.sync ? ', sync' : ''}${after === undefined ? '' : `, after ${after}`}`, async () => {
      const values = entries.map(({ text }) => text)
      let seq
      try {
        seq = await this.call('append', count === 1 ? values[0] : values, options)
      } catch (err) {
        if (!this.process.isAlive) return
        // of a client's array of more than 1 MiB, a beginning may be stored
        const isLong = this.role === 'shared' && !options.atomic && entries.reduce((bytes, { text }) => bytes + text.length, 0) > MAX_ARRAY
        const isUnknown = isLong || ['flumelog:unreachable', 'flumelog:replaced', 'flumelog:failed'].includes(err.code)
        for (const entry of entries) if (entry.state === 'pending') entry.state = isUnknown ? 'unknown' : 'refused'
        if (err.code === 'flumelog:conflict') this.checkConflict(after, err.seq)
        else if (!isUnknown && !EXPECTED.has(err.code)) simulation.retry(this, sizes)
        simulation.strike(this, 'append', false)
        throw err
      }
      if (!this.process.isAlive) return
      const { id } = log.flumelog
      for (const entry of entries) {
        entry.state = 'acknowledged'
        if (isDurable) entry.isDurable = true
      }
      simulation.strike(this, 'append', isDurable)
      const last = options.atomic ? seq.at(-1) : seq
      // a client that was away during two compactions is told where they were stored
      if (last < log.flumelog.start && this.role === 'shared' && simulation.generation.started - over >= 2) return
      if (log.since.value < last && log.flumelog.id === id) this.problem(`since is ${log.since.value} after an append at ${last}`)
      if (options.atomic) entries.forEach((entry, i) => Object.assign(entry, { seq: seq[i], id }))
      else Object.assign(/** @type {Entry} */ (entries.at(-1)), { seq, id })
    })
  }

  /**
   * @param {number | undefined} after
   * @param {number} seq of the last record
   */
  checkConflict (after, seq) {
    const { since } = this.log
    if (after === undefined || seq === after) this.problem(`an append after ${after} was refused, since the last record is at ${seq}`)
    // it reads the record because of which it was refused
    if (since.value < seq) this.problem(`since is ${since.value} after a conflict with the record at ${seq}`)
  }

  /** A reader cannot write again what a failed fsync has left unwritten. */
  get canMakeDurable () {
    return this.role !== 'reader' || this.inode.failedSyncs === 0
  }

  /** Who does not write the file need not hear of an fsync of another process that has failed; once it has heard of one, it makes nothing durable. */
  get canCommit () {
    const hasHeard = ({ inode, failedSyncs, missedSyncs }) => inode !== this.inode || (missedSyncs === 0 && failedSyncs === inode.failedSyncs)
    return (this.role !== 'reader' && this.log?.flumelog.role !== 'client') || [...this.process.calls.files.values()].every(hasHeard)
  }

  get inode () {
    const { filename, world: { disk } } = this.simulation
    return disk.find(filename, 'cursor')
  }

  sync () {
    this.start('sync', async () => {
      const synced = this.startSync()
      await this.call('sync')
      if (!this.process.isAlive) return
      synced()
      this.simulation.strike(this, 'sync', true)
    })
  }

  /**
   * @param {boolean} [isOfOwn] only what was acknowledged to this process
   * @returns {() => void} to be called when all that was acknowledged until now is durable
   */
  startSync (isOfOwn = false) {
    const { model } = this.simulation
    if (this.role === 'reader') return () => {}
    // what an earlier opening was told of is not meant: it may have ended with an error
    if (!isOfOwn) return model.startSync()
    return model.startSync(
      (entry) => entry.writer === this.number && !this.foundAtOpen.has(entry),
      (entry) => entry.deletedBy === this.number && !this.goneAtOpen.has(entry)
    )
  }

  /**
   * @param {Entry} entry
   * @param {boolean} [isDurable]
   */
  deleted (entry, isDurable = this.simulation.options.sync === 'always') {
    this.simulation.model.deleted(entry, this.number, isDurable)
  }

  /** @param {Entry} entry of which the seq is known in the log as this member sees it */
  delete (entry) {
    if (entry.deletion === 'no') entry.deletion = 'asked'
    this.start(`del ${entry.seq}`, async () => {
      const before = entry.deletion
      await this.call('del', entry.seq)
      if (!this.process.isAlive || before === 'acknowledged') return
      this.deleted(entry)
    })
  }

  /** @param {Entry[]} entries */
  deleteSeveral (entries) {
    for (const entry of entries) if (entry.deletion === 'no') entry.deletion = 'asked'
    const seqs = entries.map(({ seq }) => seq)
    this.start(`del ${seqs}`, async () => {
      const asked = entries.filter(({ deletion }) => deletion === 'asked')
      await this.call('del', seqs)
      if (!this.process.isAlive) return
      for (const entry of asked) this.deleted(entry)
    })
  }

  deleteRange (entries, gte, lte) {
    const { log } = this
    for (const entry of entries) if (entry.deletion === 'no') entry.deletion = 'asked'
    // a client deletes what it knows of
    const isFirst = this.role === 'alone' || log.flumelog.role === 'owner'
    this.start(`del from ${gte} to ${lte}`, async () => {
      await this.call('del', { gte, lte })
      if (!this.process.isAlive) return
      for (const entry of entries) {
        if (entry.deletion === 'acknowledged' || entry.state !== 'acknowledged' || !(isFirst || entry.writer === this.number)) continue
        this.deleted(entry)
      }
    })
  }

  trim (seq) {
    const { log, simulation } = this
    const { id } = log.flumelog
    const entries = [...simulation.model.entries.values()]
    for (const entry of entries) if (entry.seq === -1 || entry.id !== id || entry.seq < seq) entry.mayBeTrimmed = true
    this.start(`trim ${seq}`, async () => {
      const start = await log.trim({ lt: seq })
      if (!this.process.isAlive || log.flumelog.id !== id) return
      for (const entry of entries) {
        if (entry.id === id && entry.seq !== -1 && entry.seq < start) this.deleted(entry, true)
      }
    })
  }

  /** Whether it compacts the log, or deletes a range, for itself or for a client: also for one that has closed the log since, or does not wait any more. */
  get isAtWork () {
    if (this.log === null) return false
    const { compacting, state: { opened } } = this.process.require('./lib/log').logBehind(this.log.flumelog)
    return compacting.current !== null || (opened?.sharing?.owner ?? opened)?.writer?.deleter?.hasRequests === true
  }

  compact () {
    const { simulation: { generation } } = this
    this.simulation.compactions++
    const isByClient = this.log.flumelog.role === 'client'
    const ended = generation.startCompaction(isByClient)
    this.start('compact', async () => {
      const result = await this.call('compact').catch((err) => {
        // the owner goes on with what a client that was closed has asked for
        if (this.process.isAlive && !isByClient) ended()
        throw err
      })
      if (this.process.isAlive) ended()
      this.note(`compacted: ${JSON.stringify(result)}`)
    })
  }

  /** What the owner shows of the log's `id` is checked, and remembered. */
  async checkGeneration () {
    const { simulation: { filename, generation }, process, log } = this
    if (this.role === 'reader' || (this.role === 'shared' && log.flumelog.role !== 'owner')) return
    const { id } = log.flumelog
    const map = await process.require('./maintenance').openOffsetMap(filename)
    await map?.close()
    // it may be compacted meanwhile, for a client
    if (process.isAlive && this.log === log && log.flumelog.id === id) generation.shown(id, map?.previousId, this.name)
  }

  /**
   * Where a record was before the last compaction leads to where it is.
   * @param {Array<{ entry: Entry, seq: number, id: string }>} places of records that are in the log
   */
  checkMap (places) {
    const { simulation: { filename }, process } = this
    this.start('the offset map', async () => {
      const map = await process.require('./maintenance').openOffsetMap(filename)
      for (const { entry, seq, id } of places) {
        if (id !== map?.previousId) continue
        const now = await map.map(seq)
        if (now !== entry.seq) this.problem(`the map leads from ${seq} to ${now}, and ${nameOf(entry)} is at ${entry.seq}`)
      }
      await map?.close()
    })
  }

  /** All that is left is valid. */
  verify () {
    const { simulation: { filename }, process } = this
    this.start('verify', async () => {
      const { valid, closed, ranges } = await process.require('./maintenance').verify(filename)
      if (!valid || !closed) this.problem(`verify says ${JSON.stringify({ valid, closed, ranges })}`)
    })
  }

  /** Reads all of the log. @param {boolean} reverse */
  read (reverse) {
    const { log, simulation } = this
    const { model } = simulation
    if (log === null) return
    this.start(`read${reverse ? ', reverse' : ''}`, async () => {
      const { id, since } = log.flumelog
      const { expected, deleted } = this.known()
      const shown = [...model.entries.values()].filter(entry => entry.id === id && entry.seq !== -1 && entry.seq <= since.value)
      const records = await collect(log.stream({ reverse }), this)
      if (reverse) records.reverse()
      if (!this.process.isAlive) return
      this.checkAcknowledged(records)
      this.finished.push({ what: `reading${reverse ? ' in reverse' : ''}`, records, shown })
      if (log.flumelog.id !== id) return
      model.check(records, { who: `${this.name} reads${reverse ? ' in reverse' : ''}`, expected, deleted, id })
    })
  }

  /**
   * Other processes do not see what the one that writes the log has not acknowledged.
   * @param {Array<{ text: string }>} records
   */
  checkAcknowledged (records) {
    const { all, model, world } = this.simulation
    // its answers come late if it runs in the middle of a call
    if (world.interleaving > 0) return
    for (const { text } of records) {
      const entry = model.entries.get(text)
      const writer = entry?.state === 'pending' && all.find(({ number }) => number === entry.writer)
      if (writer && writer !== this && writer.process.isAlive && !writer.process.isStopped && entry.isOwners) this.problem(`was given ${nameOf(entry)}, which is not acknowledged`)
    }
  }

  /** @returns {{ expected: Set<Entry>, deleted: Set<Entry> }} what this process certainly gets, and what it does not get any more */
  known () {
    const { role, log, simulation: { model } } = this
    const seen = model.deletedBefore(log.flumelog.id, log.since.value)
    // other processes are told of what is acknowledged and deleted a little later
    const isFirst = role === 'alone' || log.flumelog.role === 'owner'
    const isIts = (writer) => isFirst || (role === 'shared' && writer === this.number)
    return {
      expected: new Set(model.certain.filter((entry) => isFirst || this.isKnown(entry.writer) || (this.foundAtOpen.has(entry) && !this.simulation.hadFaults))),
      deleted: new Set([...model.entries.values()].filter((entry) => entry.deletion === 'acknowledged' && (isIts(entry.deletedBy) || this.goneAtOpen.has(entry) || seen.has(entry))))
    }
  }

  /**
   * @param {number} writer
   * @returns {boolean} whether readers of this process get what was acknowledged to it. If the owner cannot write into `FILE.meta` how far that is,
   *   they get it with what is acknowledged next
   */
  isKnown (writer) {
    return this.role === 'shared' && writer === this.number && !this.simulation.hadFaults
  }

  /** The record before one. @param {Entry} entry */
  getPrevious (entry) {
    const { seq } = entry
    this.find(`getPrevious ${seq}`, entry, () => this.log.getPrevious(seq), (entry) => entry.seq < seq, (entry, found) => entry.seq < seq && entry.seq > found)
  }

  /** The first record that is not before one. @param {Entry} entry */
  search (entry) {
    const { seq } = entry
    this.find(`search ${seq}`, entry, () => this.log.search((value, its) => its - seq), (entry) => entry.seq >= seq, (entry, found) => entry.seq >= seq && entry.seq < found)
  }

  /**
   * @param {string} what
   * @param {Entry} from
   * @param {() => Promise<{ seq: number, value: any }>} run
   * @param {(entry: { seq: number }) => boolean} isRight whether it can be this one
   * @param {(entry: { seq: number }, found: number) => boolean} isBetter whether it is to be this one, if that is there
   */
  find (what, from, run, isRight, isBetter) {
    const { id } = from
    const { log, simulation: { model } } = this
    if (log.flumelog.id !== id) return
    this.start(what, async () => {
      const { expected } = this.known()
      const { seq, value } = await run().catch((err) => {
        if (err.code === 'flumelog:not-found') return { seq: what.startsWith('search') ? Infinity : -1, value: null }
        throw err
      })
      if (!this.process.isAlive || log.flumelog.id !== id) return
      // no record may start there any more, or not yet as far as this process knows
      if (value === null && (from.deletion !== 'no' || !expected.has(from))) return
      for (const other of expected) {
        if (other.id === id && other.seq !== -1 && other.deletion === 'no' && !other.mayBeTrimmed && isBetter(other, seq)) this.problem(`${what} gave ${seq}, and not ${nameOf(other)} at ${other.seq}`)
      }
      if (value === null) return
      const entry = model.entries.get(String(value))
      if (entry === undefined) return this.problem(`${what} gave a record at ${seq} that nobody has appended`)
      if (!isRight({ seq }) || (entry.id === id && entry.seq !== -1 && entry.seq !== seq)) this.problem(`${what} gave ${nameOf(entry)} at ${seq}`)
    })
  }

  // Cursors

  /**
   * Reads on from a cursor, and commits one of the records.
   * @param {import('./cursor-model').CursorModel<Entry>} model
   * @param {number} limit
   * @param {boolean} sync
   * @param {boolean} closes
   */
  consume (model, limit, sync, closes) {
    const { log, simulation } = this
    const { random } = simulation
    const what = `cursor ${model.name}`
    if (this.cursors.has(model.name)) return
    this.cursors.add(model.name)
    const part = random() < 0.5 ? 0.9999 : random()
    this.start(what, async () => {
      const cursor = log.cursor(model.name)
      try {
        await cursor.ready()
        if (!this.process.isAlive) return
        const { expected } = this.known()
        const { id } = log.flumelog
        const records = await collect(cursor.stream({ limit, fromStart: true }), this)
        // with the log, the cursor is closed: another process may have it, and these records were read before
        if (!this.process.isAlive || this.isBusy) return
        const last = records.at(-1)?.seq ?? -1
        const isAll = records.length < limit
        const isReached = (entry) => isAll || (entry.id === id && log.flumelog.id === id && entry.seq !== -1 && entry.seq < last)
        const given = records.map(({ text }) => /** @type {Entry} */ (simulation.model.entries.get(text)))
        if (given.includes(/** @type {any} */ (undefined))) return this.problem(`${what} gave a record that nobody has appended`)
        model.gave(given, { who: this.name, expected: [...expected].filter(entry => entry.deletion === 'no' && !entry.mayBeTrimmed && isReached(entry)), problem: (problem) => simulation.world.problem(problem) })
        if (records.length > 0) {
          const index = Math.floor(part * records.length)
          const done = model.commit(given[index])
          const { canCommit } = this
          await cursor.commit(records[index].seq, sync ? { sync } : {})
          if (!this.process.isAlive) return
          // a reader is not told how its log is to be synced
          const before = done(sync || (this.role !== 'reader' && simulation.options.sync === 'always'))
          if (canCommit && this.canCommit) for (const entry of before) entry.isDurable = true
          else model.mayBeLost = true
          this.note(`${what} is at ${records[index].seq}`)
          simulation.strike(this, 'cursor', true)
        }
        if (!closes) return
        const { acknowledged } = model
        await cursor.close()
        if (this.process.isAlive) model.closed(acknowledged)
      } catch (err) {
        if (!this.process.isAlive || err.code !== 'flumelog:invalid' || (simulation.compactions < 2 && !model.mayBeLost)) throw err
        // nobody has moved it in time, or its record is gone: it is lost, and starts again
        this.note(`${what}: ${err.message}`)
        model.reset()
        await cursor.commit(-1, { rewind: true })
      } finally {
        this.cursors.delete(model.name)
      }
    })
  }

  // Backups

  /**
   * @param {import('./simulation').Backup} backup
   * @param {boolean} full
   */
  backup (backup, full) {
    const { log, simulation, process } = this
    if (backup.user?.isAlive) return
    backup.user = process
    backup.isTried = true
    this.start(`backup ${backup.target}${full ? ', full' : ''}`, async () => {
      try {
        const { expected, deleted } = this.known()
        const result = await log.backup(backup.target, { full })
        if (!process.isAlive) return
        this.note(`backed up: ${JSON.stringify(result)}`)
        backup.expected = expected
        backup.deleted = deleted
        if (this.canMakeDurable) for (const entry of expected) entry.isDurable = true
        await this.checkBackup(backup)
      } catch (err) {
        const mayBeOther = simulation.compactions > 0 || simulation.world.disk.hasFailedSyncs || simulation.model.certain.length === 0
        if (!process.isAlive || err.code !== 'flumelog:invalid' || full || !mayBeOther) throw err
        // nothing of it is left in the log, or was in it, it is from before two compactions, or it has what a failed fsync and a power cut have taken from the log
        this.note(err.message)
        backup.needsFull = true
      } finally {
        backup.user = null
      }
    })
  }

  /**
   * It has what the log had when it was made, and can be restored.
   * @param {import('./simulation').Backup} backup
   */
  async checkBackup ({ target, expected, deleted }) {
    const { simulation, process } = this
    const { model, readOptions } = simulation
    const { open } = process.require('./promises')
    const backup = await open(target, { ...readOptions, readOnly: true })
    const records = await collect(backup.stream(), this)
    const { id } = backup.flumelog
    await backup.close()
    const who = `${this.name}, backup`
    if (process.isAlive) model.checkBatches(model.check(records, { who, expected, deleted, id }), who)
    return records
  }

  /** @param {import('./simulation').Backup} backup */
  restore (backup) {
    const { simulation, process } = this
    this.start(`restore ${backup.target}`, async () => {
      const { open } = process.require('./promises')
      const { restore, verify } = process.require('./maintenance')
      // what a backup that was interrupted has left
      const recovered = await open(backup.target, { ...simulation.readOptions, blockSize: simulation.blockSize })
      await recovered.close()
      const records = await this.checkBackup({ ...backup, deleted: new Set() })
      const file = '/data/restored/log'
      await restore(backup.target, file, { force: true })
      for (const name of [backup.target, file]) {
        const { valid, closed, ranges } = await verify(name)
        if (!valid || !closed) this.problem(`verify says of ${name}: ${JSON.stringify({ valid, closed, ranges })}`)
      }
      const log = await open(file, { ...simulation.readOptions, readOnly: true })
      const restored = await collect(log.stream(), this)
      await log.close()
      if (JSON.stringify(restored) !== JSON.stringify(records)) this.problem(`${restored.length} records were restored of ${records.length}`)
    })
  }

  /** Opens the log for a moment, as commands do, and ends. @param {string[]} names of what it does */
  runCommand (names) {
    const { process, simulation } = this
    this.isCommand = true
    this.start('command', async () => {
      await this.opened
      for (const name of names) {
        if (!this.isOpen) break
        simulation.do(name, this)
        if (simulation.world.random() < 0.5) await simulation.pause(process)
      }
      if (this.isOpen) {
        this.close()
        await new Promise(resolve => { this.onclosed = resolve })
      }
      if (process.isAlive) simulation.world.kill(process, 'at its end')
    })
  }

  /** @param {Entry} entry */
  get (entry) {
    const { log } = this
    const { seq, text, id } = entry
    const before = log.flumelog.id
    if (id !== before) return
    this.start(`get ${seq}`, async () => {
      const isDeleted = entry.deletion === 'acknowledged' && (this.role === 'alone' || this.simulation.model.deletedBefore(id, log.since.value).has(entry))
      const isKnown = this.role === 'alone' || log.flumelog.role === 'owner' || this.isKnown(entry.writer)
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
    const { process, simulation: { world: { random } } } = member
    // a process without one is told of changes, and does not look for them
    const limit = random() < 0.5 ? Infinity : 1 + random.below(30)
    member.note(`follows${limit === Infinity ? '' : `, for ${limit} records`}`)
    try {
      for await (const { seq, value } of log.stream(limit === Infinity ? { live: true } : { live: true, limit })) {
        if (!process.isAlive) return
        this.records.push({ seq, text: String(value) })
        member.checkAcknowledged(this.records.slice(-1))
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
