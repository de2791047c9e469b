'use strict'

// A model of a log, as an array: the seqs that records should get, and the expected results of
// reads.

/** As in format.md, section "Large records". */
const MAGIC = Buffer.from('\xffchunked', 'latin1')
const PART_HEADER = 21
const LAST_HEADER = 25

/**
 * @param {{ blockSize: number, checksum: boolean, large?: boolean }} settings
 * @param {boolean} [isClient] of a shared log: it does not know where blocks end
 */
function modelOf ({ blockSize, checksum, large = false }, isClient = false) {
  const records = []
  const padding = checksum ? 10 : 6
  const most = blockSize - padding - 4
  let made = 0

  const model = {
    records,
    end: 0,
    /** Where it starts: what was before has been trimmed. */
    start: 0,

    /** A record of a given size that starts with its number, from 1, or with what a chunk starts with and then its number. */
    make (size, isLikeChunk = false) {
      if (!large) size = Math.min(size, most)
      const value = Buffer.alloc(isLikeChunk ? size + MAGIC.length + 1 : size, 7)
      value.writeUIntBE(++made, isLikeChunk ? MAGIC.length + 1 : 0, 3)
      if (isLikeChunk) MAGIC.copy(value)
      return value
    },

    numberOf: (value) => value.readUIntBE(value[0] === MAGIC[0] ? MAGIC.length + 1 : 0, 3),

    append (values) {
      for (const value of values) {
        const size = large && value.subarray(0, MAGIC.length).equals(MAGIC) ? value.length + MAGIC.length + 1 : value.length
        const parts = []
        const seq = size > most ? model.placeChunks(size, parts) : model.place(size)
        records.push({ seq, value, parts, deleted: false, trimmed: false })
      }
      return model.since()
    },

    place (size) {
      const position = model.end % blockSize
      const fits = position + size + 4 <= blockSize - padding
      const seq = fits ? model.end : model.end - position + blockSize
      model.end = seq + size + 4
      return seq
    },

    /** A part takes what is left of a block, if that is not too little, or a whole one. */
    placeChunks (size, parts) {
      for (let left = size; ;) {
        const room = isClient ? most : most - model.end % blockSize
        const isRest = room < most
        if (left + LAST_HEADER <= room) return model.place(left + LAST_HEADER)
        const usable = isRest && room < Math.max(most / 8, 2 * PART_HEADER) ? most : room
        if (left + LAST_HEADER <= usable) return model.place(left + LAST_HEADER)
        const taken = Math.min(left, usable - PART_HEADER)
        parts.push(model.place(taken + PART_HEADER))
        left -= taken
      }
    },

    since: () => records.length === 0 ? -1 : records[records.length - 1].seq,

    isRecord: (seq) => records.some(record => record.seq === seq && !record.trimmed),

    /** Whether a part of a large record was there, which is a deleted record now: not one in front of the range that was deleted. */
    isDeletedPart: (seq) => records.some(record => record.deleted && record.parts.includes(seq) && seq >= record.deletedFrom),

    get (seq) {
      if (seq < 0) return 'flumelog:invalid'
      const record = records.find(record => record.seq === seq)
      if (seq < model.start || record?.trimmed) return 'flumelog:trimmed'
      if (record === undefined) return model.isDeletedPart(seq) ? 'flumelog:deleted' : 'flumelog:not-found'
      return record.deleted ? 'flumelog:deleted' : record.value
    },

    getPrevious (seq) {
      const before = live().filter(record => record.seq < seq)
      return before.length === 0 ? 'flumelog:not-found' : plain(before[before.length - 1])
    },

    /** @param {number} [from] where the range of the deletion starts */
    del (seq, from = 0) {
      Object.assign(records.find(record => record.seq === seq), { deleted: true, deletedFrom: from })
    },

    /**
     * @param {number} lt
     * @param {number} start what the log says, at most the last block that starts before `lt`; large records that are not before `lt` stay whole
     * @returns {string | null} what is wrong with that
     */
    trim (lt, start) {
      const before = model.start
      model.start = start
      const most = Math.floor(Math.min(lt, model.since()) / blockSize) * blockSize
      const greatest = most > blockSize ? Math.max(before, most) : before
      for (const record of records) {
        const isLost = Math.min(record.seq, ...record.parts) < start
        if (isLost && !record.trimmed && !record.deleted && record.seq >= lt) return `the record at ${record.seq} has lost a part`
        record.trimmed ||= isLost
      }
      const isExact = start === greatest || (large && start < greatest && start >= before && records.some(({ parts }) => parts.length > 0))
      return isExact ? null : `it should start at ${greatest}`
    },

    /** Whether the block at this offset may be a hole, in which no record starts any longer. */
    mayBeInHole (seq) {
      const block = Math.floor(seq / blockSize)
      const within = records.filter(({ seq, parts }) => [seq, ...parts].some(start => Math.floor(start / blockSize) === block))
      return within.length > 0 && within.every(({ deleted }) => deleted) && block < Math.floor(model.since() / blockSize)
    },

    stream ({ gt = -Infinity, gte = -Infinity, lt = Infinity, lte = Infinity, reverse, limit, seqs, values }) {
      const found = live().filter(({ seq }) => seq > gt && seq >= gte && seq < lt && seq <= lte)
      if (reverse) found.reverse()
      return found.slice(0, limit || undefined).map(record => {
        if (values === false) return record.seq
        return seqs === false ? record.value : plain(record)
      })
    },

    search (compare) {
      const found = live().find(record => compare(record.value) >= 0)
      return found === undefined ? 'flumelog:not-found' : plain(found)
    }
  }

  const live = () => records.filter(record => !record.deleted && !record.trimmed)
  const plain = ({ seq, value }) => ({ seq, value })

  return model
}

module.exports = { modelOf }
