'use strict'

// What the owner knows about its clients: which of their records are stored, and where.
// It outlives their connections, and through the journal the owner.

const { MAX_FRAME } = require('./frames')
const { Journal } = require('./journal')
const { storedRuns } = require('./stored-runs')

/** Milliseconds after which a client that does not come back is forgotten. */
const FORGET_AFTER = 60_000
/** Clients that are not connected and are remembered. */
const MAX_ABSENT = 1024

/** @typedef {import('./frames').Run} Run */

class KnownClient {
  /**
   * @param {Buffer} id
   * @param {number} stored the highest number that is stored
   * @param {Run[]} runs
   * @param {number} now milliseconds
   */
  constructor (id, stored, runs, now) {
    this.id = id
    this.slot = -1
    this.stored = stored
    /** The highest number that was received. */
    this.highest = stored
    /** Those that are stored and may have to be told again, oldest first. */
    this.runs = runs
    /** Those that are with the writer, oldest first. @type {Run[]} */
    this.packed = []
    /** @type {import('./session').Session | null} */
    this.session = null
    /** It has said that it does not come back. */
    this.isLeaving = false
    this.absentSince = now
  }

  /** @param {number} answered the client needs no answer for numbers up to this one */
  forget (answered) {
    const { runs } = this
    let count = 0
    while (count < runs.length && runs[count].first + runs[count].count - 1 <= answered) count++
    if (count > 0) runs.splice(0, count)
  }
}

class KnownClients {
  /**
   * @param {import('../storage/metadata-file').MetadataFile} metadata
   * @param {import('../clock').Clock} clock
   */
  constructor (metadata, clock) {
    this.clock = clock
    /** By id, in hex. @type {Map<string, KnownClient>} */
    this.clients = new Map()
    this.journal = new Journal(metadata, () => this.list())
    /** Those of this process, from when it was a client, that are with the writer. @type {Run[]} */
    this.own = []
    /** Makes FILE.meta say that the log is open. @type {() => Error | null} why it does not; null: it does */
    this.problem = () => null
  }

  /**
   * What an earlier owner has left.
   * @param {number} end of the log
   * @param {import('./stored-runs').Read} read
   * @param {number} blockSize
   * @param {number} start of the log
   */
  async load (end, read, blockSize, start) {
    const stored = await storedRuns(this.journal.read(), end, read, blockSize, start)
    const now = this.clock.now()
    for (const [key, client] of stored) {
      const known = new KnownClient(client.id, client.stored, client.runs, now)
      known.slot = this.journal.slots.of(client.id)
      this.clients.set(key, known)
    }
  }

  /** @returns {Iterable<import('./journal').Client>} */
  * list () {
    for (const { id, stored, runs, packed } of this.clients.values()) yield { id, stored, runs: [...runs, ...packed] }
  }

  /**
   * @param {import('./frames').Hello} hello
   * @returns {{ client: KnownClient, isUnknown: boolean }} isUnknown: nothing is known of what it has sent
   * @throws the system's error if it cannot be remembered
   */
  welcome ({ id, answered, sent }) {
    const known = this.clients.get(id)
    const isUnknown = known === undefined && sent > 0
    const client = known ?? new KnownClient(Buffer.from(id, 'hex'), sent, [], this.clock.now())
    if (known === undefined) {
      this.dropAbsent()
      this.clients.set(id, client)
      try {
        const problem = this.problem()
        if (problem !== null) throw problem
        client.slot = this.journal.addClient(client.id, client.stored)
        const err = this.journal.flush()
        if (err !== null) throw err
      } catch (err) {
        this.clients.delete(id)
        throw err
      }
    }
    client.forget(answered)
    return { client, isUnknown }
  }

  /**
   * @param {KnownClient} client
   * @param {Run} run that is with the writer now
   */
  addRun (client, run) {
    client.packed.push(run)
    this.journal.addRun(client.slot, run.first, run.count, run.seq)
  }

  /**
   * @param {KnownClient} client
   * @param {Run} run that the writer has stored, or not; the oldest one
   * @param {boolean} isStored
   */
  settle (client, run, isStored) {
    client.packed.shift()
    if (isStored) {
      client.runs.push(run)
      client.stored = run.first + run.count - 1
    }
  }

  /**
   * The log is another file now. What is acknowledged keeps its seqs from before: clients have the map.
   * @param {number} acknowledged up to where it was copied
   * @param {number} distance by which what is not acknowledged has moved
   */
  moved (acknowledged, distance) {
    this.journal.endMove(true)
    for (const run of this.own) if (run.seq >= acknowledged) run.seq += distance
    const packed = [...this.clients.values()].flatMap(({ slot, packed }) => packed.map(run => ({ slot, run }))).filter(({ run }) => run.seq >= acknowledged)
    for (const { run } of packed) run.seq += distance
    packed.sort((a, b) => a.run.seq - b.run.seq)
    for (const { slot, run: { first, count, seq } } of packed) this.journal.addRun(slot, first, count, seq)
  }

  /**
   * What a client has not said that it knows is counted by the next owner, by the lengths of the records.
   * @param {number} start offset
   * @param {number} end offset
   * @param {number} blockSize
   * @returns {boolean} whether such records may be between these offsets
   */
  mayAskFor (start, end, blockSize) {
    const overlaps = (/** @type {Run} */ { seq, count }) =>
      seq < end && seq + Math.min(count * blockSize, 2 * (MAX_FRAME + blockSize)) > start
    for (const { runs, packed } of this.clients.values()) if (runs.some(overlaps) || packed.some(overlaps)) return true
    return false
  }

  /**
   * Its connection is over.
   * @param {KnownClient} client
   */
  leave (client) {
    client.session = null
    client.absentSince = this.clock.now()
    if (client.isLeaving) this.drop(client)
  }

  /** @param {KnownClient} client */
  drop (client) {
    if (this.clients.delete(client.id.toString('hex'))) this.journal.forget(client.slot)
  }

  /** @param {Buffer} id */
  find (id) {
    return this.clients.get(id.toString('hex'))
  }

  /** @param {Buffer} id of this process, which is no client any more */
  dropOwn (id) {
    const client = this.find(id)
    if (client !== undefined) this.drop(client)
  }

  /** Clients that do not come back must not make the journal grow. */
  dropAbsent () {
    const now = this.clock.now()
    const absent = [...this.clients.values()].filter(({ session, packed }) => session === null && packed.length === 0)
    const surplus = absent.length - MAX_ABSENT
    absent.sort((a, b) => a.absentSince - b.absentSince).forEach((client, i) => {
      if (i < surplus || now - client.absentSince > FORGET_AFTER) this.drop(client)
    })
  }

  /** The log is about to be closed: what the next owner may have to know stays. */
  close () {
    this.dropAbsent()
  }
}

module.exports = { KnownClients, KnownClient }
