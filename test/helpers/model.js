'use strict'

// A model of a log, as an array: the seqs that records should get, and the expected results of
// reads.

/** @param {{ blockSize: number, checksum: boolean }} settings */
function modelOf ({ blockSize, checksum }) {
  const records = []
  const padding = checksum ? 10 : 6
  let made = 0

  const model = {
    records,
    end: 0,

    /** A record of a given size that starts with its number, from 1. */
    make (size) {
      const value = Buffer.alloc(Math.min(size, blockSize - padding - 4), 7)
      value.writeUIntBE(++made, 0, 3)
      return value
    },

    append (values) {
      for (const value of values) {
        const position = model.end % blockSize
        const fits = position + value.length + 4 <= blockSize - padding
        const seq = fits ? model.end : model.end - position + blockSize
        records.push({ seq, value, deleted: false })
        model.end = seq + value.length + 4
      }
      return model.since()
    },

    since: () => records.length === 0 ? -1 : records[records.length - 1].seq,

    isRecord: (seq) => records.some(record => record.seq === seq),

    get (seq) {
      if (seq < 0) return 'flumelog:invalid'
      const record = records.find(record => record.seq === seq)
      if (record === undefined) return 'flumelog:not-found'
      return record.deleted ? 'flumelog:deleted' : record.value
    },

    getPrevious (seq) {
      if (seq < 0) return 'flumelog:invalid'
      if (seq !== model.end && !model.isRecord(seq)) return 'flumelog:not-found'
      const before = live().filter(record => record.seq < seq)
      return before.length === 0 ? 'flumelog:not-found' : plain(before[before.length - 1])
    },

    del (seq) {
      records.find(record => record.seq === seq).deleted = true
    },

    /** Whether the block at this offset may be a hole, in which no record starts any longer. */
    mayBeInHole (seq) {
      const block = Math.floor(seq / blockSize)
      const within = records.filter(record => Math.floor(record.seq / blockSize) === block)
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

  const live = () => records.filter(record => !record.deleted)
  const plain = ({ seq, value }) => ({ seq, value })

  return model
}

module.exports = { modelOf }
