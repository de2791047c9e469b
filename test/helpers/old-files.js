'use strict'

// Files of other logs, made by their own packages.

const fs = require('fs')
const { promisify } = require('util')
const pull = require('pull-stream')
const AsyncAppendOnlyLog = require('async-append-only-log')
const OffsetLog = require('flumelog-offset')
const { appendAligned, readAligned, withAligned } = require('./aligned')

const BLOCK_SIZE = 65536

/**
 * @typedef {{ offset: number, data?: Buffer, deleted?: true }} OldRecord
 * @typedef {{ make: (file: string, records: Buffer[], deleted?: number[]) => Promise<void>, read: (file: string) => Promise<OldRecord[]> }} OldLog
 */

/** What makes and reads each format; `deleted`: indexes of records. @type {Record<string, OldLog>} */
const OLD_LOGS = {
  'flumelog-offset-32': offsetLog(32),
  'flumelog-offset-48': offsetLog(48),
  'flumelog-offset-53': offsetLog(53),
  'flumelog-aligned-offset': {
    async make (file, records, deleted = []) {
      await appendAligned(file, BLOCK_SIZE, records, endOf(records))
      const all = await readAligned(file, BLOCK_SIZE)
      await withAligned(file, BLOCK_SIZE, async (log) => {
        for (const index of deleted) await new Promise((resolve, reject) => log.del(all[index].seq, err => err ? reject(err) : resolve(undefined)))
      })
    },
    read: async (file) => (await readAligned(file, BLOCK_SIZE)).map(({ seq, value }) => recordOf(seq, value))
  },
  'async-append-only-log': {
    async make (file, records, deleted = []) {
      const log = AsyncAppendOnlyLog(file, { blockSize: BLOCK_SIZE, writeTimeout: 1 })
      const offsets = []
      for (const record of records) offsets.push(await promisify(log.append)(record))
      await promisify(log.onDrain)()
      for (const index of deleted) await promisify(log.del)(offsets[index])
      await promisify(log.onDeletesFlushed)()
      await promisify(log.close)()
      // written some time later, and nobody says when
      fs.rmSync(`${file}.stats`, { force: true })
    },
    async read (file) {
      const log = AsyncAppendOnlyLog(file, { blockSize: BLOCK_SIZE, writeTimeout: 1 })
      const all = await new Promise((resolve) => {
        const records = []
        log.stream({}).pipe({ paused: false, write: ({ offset, value }) => records.push(recordOf(offset, value)), end: () => resolve(records) })
      })
      await promisify(log.close)()
      return all
    }
  }
}

/**
 * @param {number} bits
 * @returns {OldLog}
 */
function offsetLog (bits) {
  const open = (file) => OffsetLog(file, { offsetCodec: bits })
  const collect = (log) => new Promise((resolve, reject) => pull(log.stream(), pull.collect((err, all) => err ? reject(err) : resolve(all))))
  return {
    async make (file, records, deleted = []) {
      const log = open(file)
      await promisify(log.append)(records)
      const all = await collect(log)
      if (deleted.length > 0) await promisify(log.del)(deleted.map(index => all[index].seq))
    },
    read: async (file) => (await collect(open(file))).map(({ seq, value }) => recordOf(seq, value))
  }
}

/**
 * @param {number} offset
 * @param {Buffer | null} data
 * @returns {OldRecord}
 */
function recordOf (offset, data) {
  return data === null || data.every(byte => byte === 0) ? { offset, deleted: true } : { offset, data }
}

/** @param {Buffer[]} records in blocks of flumelog-aligned-offset */
function endOf (records) {
  let end = 0
  for (const { length } of records) {
    if (end % BLOCK_SIZE + length + 4 > BLOCK_SIZE - 6) end += BLOCK_SIZE - end % BLOCK_SIZE
    end += length + 4
  }
  return end
}

/**
 * @param {number} count
 * @param {number} [size] of the largest
 * @returns {Buffer[]} of different sizes, none of them zeros
 */
function variedRecords (count, size = 700) {
  return Array.from({ length: count }, (_, i) => Buffer.alloc(1 + (i * 7919) % size, `record ${i}; `))
}

module.exports = { OLD_LOGS, variedRecords, recordOf }
