'use strict'

// The log that is mirrored: its records after a position, which of them are deleted, and where one from before a compaction is now.

const { callbacks: { promised }, chunk } = require('flumelog-random-access-file/blocks')
const errors = require('../errors')
const { MAX_RECORDS, MAX_BYTES } = require('../write/batch-sender')

/**
 * @typedef {{ seq: number, data: Buffer }} LogRecord
 * @typedef {[from: number, to: number]} Run deleted records, from the first one to the next record that is not deleted
 * @typedef {{ live: number, runs: Run[] }} Survey `live`: number of records that are not deleted
 */

class MirrorSource {
  /** @param {InstanceType<typeof import('flumelog-random-access-file/blocks').CopiedLog>} log that is open */
  constructor (log) {
    this.log = log
    /** Where the log started when deletions were looked for last. */
    this.start = 0
  }

  /** Another one after each compaction. */
  get id () {
    return this.log.id
  }

  /**
   * @param {{ gt?: number, gte?: number, lte?: number }} range
   * @returns {Promise<LogRecord[] | null>} the first records in it, about as many as a batch takes; null: the log was compacted meanwhile
   */
  async read (range) {
    const { id, log: { filename, large } } = this
    /** @type {LogRecord[]} */
    const records = []
    let bytes = 0
    let chunkAt = -1
    const isDone = await this.scan(range, (block, start, end, seq) => {
      if (!large && chunk.kindAt(block, start, end) !== chunk.PLAIN) {
        chunkAt = seq
        return false
      }
      records.push({ seq, data: Buffer.from(block.subarray(start, end)) })
      bytes += end - start
      return records.length < MAX_RECORDS && bytes < MAX_BYTES
    })
    if (chunkAt !== -1 && records.length === 0) throw errors.chunkInMirror(filename, chunkAt)
    return isDone && id === this.id ? records : null
  }

  /**
   * @param {number} last seq
   * @returns {Promise<Run[]>} what was trimmed since the last call, and deleted records up to `last` in the blocks in which some were deleted since,
   *   if these are known; none if the log was compacted meanwhile
   */
  async runsSince (last) {
    const { log, log: { blockSize, start } } = this
    const numbers = [...log.takeRewritten() ?? []].sort((a, b) => a - b)
    /** @type {Run[]} */
    const runs = start === this.start ? [] : [[-1, start]]
    this.start = start
    for (const number of numbers) {
      const [from, to] = [number * blockSize, Math.min((number + 1) * blockSize, last + 1)]
      const found = from < to ? await this.runsIn({ gte: from, lt: to }, to) : { runs: [] }
      if (found === null) return []
      runs.push(...found.runs)
    }
    return runs
  }

  /**
   * @param {number} last seq
   * @returns {Promise<Survey | null>} of all records up to there; null: the log was compacted meanwhile
   */
  async survey (last) {
    const { log, log: { start } } = this
    // what was deleted until now is found here
    log.takeRewritten()
    this.start = start
    const survey = await this.runsIn({ lte: last }, last + 1)
    if (start > 0) survey?.runs.unshift([-1, start])
    return survey
  }

  /**
   * @param {import('flumelog-random-access-file').ScanOptions} range
   * @param {number} end of it
   * @returns {Promise<Survey | null>} of the records in it; null: the log was compacted meanwhile
   */
  async runsIn (range, end) {
    const { id } = this
    /** @type {Run[]} */
    const runs = []
    let live = 0
    let from = -1
    const isDone = await this.scan({ ...range, deleted: true }, (block, start, end, seq) => {
      if (block === null) {
        if (from === -1) from = seq
        return
      }
      live++
      if (from !== -1) runs.push([from, seq])
      from = -1
    })
    if (from !== -1) runs.push([from, end])
    return isDone && id === this.id ? { live, runs } : null
  }

  /**
   * @param {import('flumelog-random-access-file').ScanOptions} range
   * @param {(block: any, start: number, end: number, seq: number) => boolean | void} onRecord
   * @returns {Promise<boolean>} false: the log was compacted meanwhile, or since the range was known
   */
  scan (range, onRecord) {
    return promised(cb => this.log.log.scan({ ...range, cache: false, reuse: true, fromStart: true }, /** @type {any} */ (onRecord), cb)).then(() => true, (err) => {
      // with `fromStart`, only a compaction makes a bound invalid
      if (['flumelog:compacted', 'flumelog:trimmed'].includes(err.code)) return false
      throw err
    })
  }

  /**
   * @param {number} seq where there is no record, or none any more
   * @returns {Promise<boolean>} whether one starts there that is deleted or trimmed
   */
  isStart (seq) {
    return promised(cb => this.log.log.get(seq, cb)).then(() => true, ({ code }) => code !== 'flumelog:not-found')
  }

  /**
   * @param {{ id: string, seq: number }} position in the log as it was
   * @returns {Promise<{ seq: number | null, last: number } | null>} where that record is now, null if it is gone, and the last one at or before it; null:
   *   it is from before an earlier compaction
   */
  async find ({ id, seq }) {
    await this.log.findMap(id)
    return this.findNow({ id, seq })
  }

  /**
   * @param {{ id: string, seq: number }} position
   * @returns {{ seq: number | null, last: number } | null} the same, once the map of the compaction is there
   */
  findNow ({ id, seq }) {
    if (id === this.id) return { seq, last: seq }
    if (seq === -1) return { seq, last: seq }
    const { map } = this.log
    if (map === null || map.id !== this.id || map.previousId !== id) return null
    return { seq: map.at(seq), last: map.down(seq) }
  }
}

/**
 * @param {Run[]} runs in order
 * @param {Run[]} known in order
 * @returns {Run[]} those that are not within one of the known
 */
function newRuns (runs, known) {
  let i = 0
  return runs.filter(([from, to]) => {
    while (i < known.length && known[i][1] < to) i++
    return !(i < known.length && known[i][0] <= from)
  })
}

module.exports = { MirrorSource, newRuns }
