'use strict'

// What the owner of a shared log knows about its clients: which of their records are stored, and where. It outlives their connections, and
// through FILE.meta the owner: which records are about to be stored, and where, is written there before they are. The next owner compares that
// with the end of the log. It has to survive a process, not the machine: nothing is fsynced.

/** Milliseconds after which a client that does not come back is forgotten. */
const FORGET_AFTER = 60_000
/** Clients that are not connected and are remembered. */
const MAX_ABSENT = 1024

/**
 * @typedef {import('./frames').Run} Run
 * @typedef {import('../storage/metadata-text').RunLine} RunLine
 * @typedef {Run & { end: number }} StoredRun end: offset behind the last record
 */

class KnownClient {
  /**
   * @param {string} id
   * @param {number} stored the highest of its numbers that is stored
   * @param {StoredRun[]} runs
   * @param {number} now milliseconds
   */
  constructor (id, stored, runs, now) {
    this.id = id
    this.stored = stored
    /** Those that are stored and may have to be acknowledged again, oldest first. */
    this.runs = runs
    /** Those that are with the writer, oldest first. @type {StoredRun[]} */
    this.packed = []
    /** The highest number that was received. */
    this.highest = stored
    /** Null: it is not connected. @type {import('./session').Session | null} */
    this.session = null
    /** Whether the log was compacted since it has connected: it has not opened the file yet in which the log is now. */
    this.isBehind = false
    /** It has said that it does not come back. */
    this.isLeaving = false
    this.absentSince = now
  }

  /** @param {number} answered the client needs no answer for numbers up to this one */
  forget (answered) {
    const { runs } = this
    let count = 0
    while (count < runs.length && lastOf(runs[count]) <= answered) count++
    if (count > 0) runs.splice(0, count)
  }

  /** The oldest run with the writer is stored. */
  addStored () {
    const run = /** @type {StoredRun} */ (this.packed.shift())
    this.stored = lastOf(run)
    this.runs.push(run)
  }
}

class KnownClients {
  /**
   * @param {import('../storage/metadata-file').MetadataFile} metadata
   * @param {import('../clock').Clock} clock
   * @param {() => Error | null} problem why FILE.meta does not say that the log is open; null: it does
   */
  constructor (metadata, clock, problem) {
    this.metadata = metadata
    this.clock = clock
    /** By id. @type {Map<string, KnownClient>} */
    this.clients = new Map()
    /** The ids of those of which FILE.meta does not say what is true. @type {Set<string>} */
    this.changed = new Set()
    this.problem = problem
  }

  /**
   * What an earlier owner has left.
   * @param {number} end of the log
   */
  load (end) {
    const now = this.clock.now()
    for (const [id, lines] of Object.entries(this.metadata.metadata?.clients ?? {})) {
      const runs = lines.map(([first, count, seq, end]) => ({ first, count, seq, end }))
      const stored = runs.filter(run => run.end <= end)
      this.clients.set(id, new KnownClient(id, Math.max(0, ...stored.map(lastOf)), stored, now))
    }
  }

  /**
   * @param {number} [end] offset
   * @returns {import('../storage/metadata-text').ClientRuns} for a snapshot of FILE.meta, the runs before `end`
   */
  list (end = Infinity) {
    return Object.fromEntries([...this.clients].map(([id, client]) => [id, linesOf(client, end)]))
  }

  /**
   * Writes what has changed into FILE.meta, at once.
   * @returns {Error | null}
   */
  flush () {
    return this.write([...this.changed])
  }

  /**
   * @param {string[]} ids
   * @returns {Error | null}
   */
  write (ids) {
    const { changed, clients } = this
    if (ids.length === 0) return null
    /** @type {Record<string, RunLine[] | null>} */
    const lines = {}
    for (const id of ids) {
      const client = clients.get(id)
      lines[id] = client === undefined ? null : linesOf(client)
    }
    try {
      this.metadata.append({ clients: lines })
    } catch (err) {
      return /** @type {Error} */ (err)
    }
    for (const id of ids) changed.delete(id)
    return null
  }

  /**
   * @param {import('./frames').Hello} hello
   * @returns {{ client: KnownClient, isUnknown: boolean }} isUnknown: nothing is known of what it has sent
   * @throws the system's error if it cannot be remembered
   */
  welcome ({ id, answered }) {
    const known = this.clients.get(id)
    const client = known ?? this.add(id, answered)
    client.forget(answered)
    client.isBehind = client.isLeaving = false
    return { client, isUnknown: known === undefined }
  }

  /**
   * @param {string} id
   * @param {number} answered
   * @returns {KnownClient}
   * @throws the system's error if it cannot be remembered
   */
  add (id, answered) {
    this.dropAbsent()
    const client = new KnownClient(id, answered, [], this.clock.now())
    this.clients.set(id, client)
    // nothing else may be appended for long. Not what is with the writer, which a compaction may be about to move
    const gone = [...this.changed].filter(changed => !this.clients.has(changed))
    const problem = this.problem() ?? this.write([id, ...gone])
    if (problem === null) return client
    this.clients.delete(id)
    throw problem
  }

  /**
   * This process was a client.
   * @param {string} id
   * @returns {{ client: KnownClient, isUnknown: boolean }} see `welcome`
   */
  adopt (id) {
    const known = this.clients.get(id)
    const client = known ?? new KnownClient(id, 0, [], this.clock.now())
    this.clients.set(id, client)
    return { client, isUnknown: known === undefined }
  }

  /**
   * @param {KnownClient} client
   * @param {StoredRun} run that is with the writer now
   */
  addRun (client, run) {
    client.packed.push(run)
    this.changed.add(client.id)
  }

  /**
   * Nothing else that is with the writer is going to be stored.
   * @param {number} acknowledged offset; what is before it is stored, and its sender may not have been told yet
   */
  rollBack (acknowledged) {
    for (const client of this.withPacked()) {
      client.packed = client.packed.filter(({ end }) => end <= acknowledged)
      this.changed.add(client.id)
      // what FILE.meta says of them is replaced durably before anything is written: recovery would take what follows for a part of it
      this.metadata.distrust()
    }
  }

  /**
   * The log is another file now. What is acknowledged keeps its seqs from before: clients have the map.
   * @param {number} acknowledged up to where it was copied
   * @param {number} distance by which what is not acknowledged has moved
   */
  moved (acknowledged, distance) {
    for (const client of this.clients.values()) client.isBehind = client.session !== null
    for (const client of this.withPacked()) {
      for (const run of client.packed.filter(({ seq }) => seq >= acknowledged)) {
        run.seq += distance
        run.end += distance
      }
      this.changed.add(client.id)
    }
  }

  withPacked () {
    return [...this.clients.values()].filter(({ packed }) => packed.length > 0)
  }

  /** Whether one has not followed the last compaction. */
  get hasBehind () {
    return [...this.clients.values()].some(({ isBehind }) => isBehind)
  }

  /**
   * Its connection is over.
   * @param {KnownClient} client
   */
  leave (client) {
    client.session = null
    client.absentSince = this.clock.now()
    // until what it has sent is stored or rolled back, FILE.meta has to tell of it
    if (client.isLeaving && client.packed.length === 0) this.drop(client)
  }

  /** @param {KnownClient} client */
  drop ({ id }) {
    if (this.clients.delete(id)) this.changed.add(id)
  }

  /** Clients that do not come back must not make FILE.meta grow. */
  dropAbsent () {
    const now = this.clock.now()
    const absent = [...this.clients.values()].filter(({ session, packed }) => session === null && packed.length === 0)
    const surplus = absent.length - MAX_ABSENT
    absent.sort((a, b) => a.absentSince - b.absentSince).forEach((client, i) => {
      if (i < surplus || client.isLeaving || now - client.absentSince > FORGET_AFTER) this.drop(client)
    })
  }
}

/** @param {Run} run */
function lastOf ({ first, count }) {
  return first + count - 1
}

/**
 * @param {KnownClient} client
 * @param {number} [end] offset
 * @returns {RunLine[]} the runs before it
 */
function linesOf ({ runs, packed }, end = Infinity) {
  return [...runs, ...packed].filter(run => run.end <= end).map(({ first, count, seq, end }) => [first, count, seq, end])
}

module.exports = { KnownClients, KnownClient }
