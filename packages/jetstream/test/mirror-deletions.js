'use strict'

// What a mirror deletes if the log is compacted while it looks for deletions, and if the server has miscounted the messages, as nats-server 2.15.2 does when
// it purges for one client while it deletes or stores for another. No server is needed.

const fs = require('fs')
const test = require('tape')
const { Mirror } = require('../lib/mirror')
const { MirrorDeletions } = require('../lib/mirror-deletions')
const { MirrorLock } = require('../lib/mirror-identity')
const { MirrorTarget } = require('../lib/mirror-target')
const { canLock } = require('../../../lib/storage/lock')
const { testFolder } = require('../../../test/helpers/folder')

/** @param {(sequence: number) => void} ondelete */
function readerOf (ondelete) {
  const manager = { streams: { deleteMessage: async (/** @type {string} */ stream, /** @type {number} */ sequence) => ondelete(sequence) } }
  return { stream: 'stream', connection: { manager, deleted: new Set(), ask: (/** @type {() => Promise<any>} */ start) => start() } }
}

/** A log of three records, and a stream with these; it fails if anything is removed. */
function mirrored (t, { onrefresh = () => {}, ontail = () => {} }) {
  const source = {
    id: 'before',
    log: { path: null, changes: '', refresh: async () => onrefresh(source) },
    // the records of a compacted log are behind all that were there before
    survey: async () => source.id === 'before' ? { live: 3, runs: [] } : { live: 0, runs: [[-1, 1000]] }
  }
  const target = {
    sender: { last: 3 },
    tail: async () => {
      ontail(source)
      return { sequence: 3, messages: 3 }
    },
    first: async () => null,
    purge: async () => t.fail('it purges messages'),
    reader: readerOf(() => t.fail('it deletes messages'))
  }
  return new MirrorDeletions(/** @type {any} */ (source), /** @type {any} */ (target), () => {})
}

test('a log that was not compacted has nothing to be deleted', async (t) => {
  t.equal(await mirrored(t, {}).carryOver(20, 'before'), 'done')
})

test('a log that is found compacted when it is looked at is looked at again, with the position that it has then', async (t) => {
  t.equal(await mirrored(t, { onrefresh: (source) => { source.id = 'after' } }).carryOver(20, 'before'), 'again')
})

test('so is one that is compacted while the stream is asked', async (t) => {
  t.equal(await mirrored(t, { ontail: (source) => { source.id = 'after' } }).carryOver(20, 'before'), 'again')
})

/** A log, and a stream of which the server says that it has another number of messages than there are. */
function miscounted (t, { records, there, counted }) {
  const filename = testFolder(t)('log')
  fs.writeFileSync(`${filename}.mirror-id`, '')
  const recordsOf = (seqs) => seqs.map(seq => ({ seq, data: Buffer.from(`record ${seq}`) }))
  const source = {
    id: 'a',
    blocks: { start: 0 },
    log: { path: filename, changes: '', refresh: async () => {} },
    survey: async () => ({ live: records.length, runs: [] }),
    read: async ({ gt }) => recordsOf(records.filter(seq => seq > gt)),
    find: async () => null,
    findNow: ({ seq }) => ({ seq, last: seq })
  }
  const deleted = []
  const target = {
    label: 'stream',
    sender: { last: 9 },
    tail: async () => ({ sequence: 9, messages: counted }),
    first: async () => null,
    windows: async function * () { yield recordsOf(there).map(record => ({ ...record, sequence: record.seq + 1, id: 'a' })) },
    purge: async () => t.fail('it purges messages'),
    reader: readerOf(sequence => deleted.push(sequence))
  }
  return { deletions: new MirrorDeletions(/** @type {any} */ (source), /** @type {any} */ (target), () => {}), deleted }
}

test('a stream that has fewer messages than the log records, as the server counts them, lacks some only if one is not found', async (t) => {
  const complete = miscounted(t, { records: [1, 2, 3], there: [1, 2, 3], counted: 2 })
  t.equal(await complete.deletions.carryOver(3, 'a'), 'missing')
  t.equal(await complete.deletions.carryOver(3, 'a', true), 'done')
  const one = miscounted(t, { records: [1, 3], there: [1, 2, 3], counted: 1 })
  t.equal(await one.deletions.carryOver(3, 'a', true), 'done')
  t.deepEqual(one.deleted, [3], 'what is deleted in the log is deleted then, too')
  const incomplete = miscounted(t, { records: [1, 2, 3], there: [1, 3], counted: 2 })
  t.equal(await incomplete.deletions.carryOver(3, 'a', true), 'missing')
})

/** How a mirror ends that gets these outcomes, one after the other, whenever it looks for deletions; the last one again and again. */
async function outcomeOf (isReplicated, outcomes) {
  const looks = []
  const mirror = Object.assign(Object.create(Mirror.prototype), {
    position: { id: 'a', seq: 1 },
    source: { id: 'a' },
    target: { label: 'stream', isReplicated },
    connection: { pause: async () => {} },
    locate: async () => {},
    deletions: {
      async carryOver (seq, id, mustCompare) {
        looks.push(mustCompare)
        return outcomes[Math.min(looks.length, outcomes.length) - 1]
      }
    }
  })
  const end = await mirror.carryOver().then(() => 'done', err => err.code)
  return { end, compared: looks.filter(mustCompare => mustCompare).length }
}

test('a mirror ends for records that the stream lacks only if it lacks them again and again, and for longer if a replica may lag behind', async (t) => {
  const times = (count, outcome) => new Array(count).fill(outcome)
  t.deepEqual(await outcomeOf(false, ['missing']), { end: 'flumelog:invalid', compared: 1 })
  t.deepEqual(await outcomeOf(true, ['missing']), { end: 'flumelog:invalid', compared: 10 })
  t.deepEqual(await outcomeOf(true, [...times(28, 'missing'), 'done']), { end: 'done', compared: 10 })
  t.deepEqual(await outcomeOf(false, [...times(50, 'again'), 'missing', 'done']), { end: 'done', compared: 0 }, 'while the stream was changing')
  t.deepEqual(await outcomeOf(false, [...times(10, 'missing'), 'again', ...times(10, 'missing'), 'done']), { end: 'done', compared: 0 })
})

test('of two mirrors of a log, one at a time deletes, and each knows whether the other one held the lock since', async (t) => {
  const filename = testFolder(t)('log')
  fs.writeFileSync(`${filename}.mirror-id`, '')
  const locks = [1, 2].map(() => new MirrorLock(/** @type {any} */ ({ path: filename })))
  const wasAnother = async (lock) => {
    // as long as the clock of the file system needs
    await new Promise(resolve => setTimeout(resolve, 20))
    return lock.whileHeld(async isAnother => isAnother)
  }
  t.deepEqual([await wasAnother(locks[0]), await wasAnother(locks[0]), await wasAnother(locks[1]), await wasAnother(locks[0]), await wasAnother(locks[0])], [true, false, true, true, false])
  if (canLock) t.equal(await locks[0].whileHeld(() => locks[1].whileHeld(async () => 'both')), null)
})

test('the last message is found though the server has forgotten on which subject it is', async (t) => {
  const headers = new Map([['Flumelog-Seq', '20'], ['Flumelog-Id', 'a'], ['Flumelog-Log', 'mine']])
  const target = new MirrorTarget(/** @type {any} */ ({ settings: { subject: 'log', stream: 'log' }, manager: {}, label: 'stream', ask: async () => null, pause: async () => {} }))
  target.identity = 'mine'
  const found = (state, last) => {
    Object.assign(target.reader, { refresh: async () => state, previous: async () => last })
    return target.tail()
  }
  const last = { seq: 7, data: Buffer.from('a'), headers }
  const message = { sequence: 7, id: 'a', seq: 20, data: last.data }
  t.deepEqual(await found({ first_seq: 5, last_seq: 8, messages: 2 }, last), { sequence: 8, messages: 2, message })
  t.deepEqual(await found({ first_seq: 7, last_seq: 8, messages: 0 }, last), { sequence: 8, messages: 0, message }, 'nor counted it')
  t.deepEqual(await found({ first_seq: 7, last_seq: 8, messages: 1 }, null), { sequence: 8, messages: 1, message: null })
  t.deepEqual(await found({ first_seq: 9, last_seq: 8, messages: 0 }, last), { sequence: 8, messages: 0, message: null }, 'an empty stream has none')
})
