'use strict'

// What a mirror deletes if the log is compacted while it looks for deletions, and if the server has miscounted the messages, as nats-server 2.15.2 does when
// it purges for one client while it deletes or stores for another. No server is needed.

const fs = require('fs')
const test = require('tape')
const { Connection } = require('../lib/connection/connection')
const { Mirror } = require('../lib/mirror/mirror')
const { MirrorDeletions } = require('../lib/mirror/mirror-deletions')
const { MirrorLock } = require('../lib/mirror/mirror-identity')
const { mirrorSettingsOf } = require('../lib/mirror/mirror-options')
const { MirrorTarget } = require('../lib/mirror/mirror-target')
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

test('a record that is not found is not taken for removed if a server has given fewer messages than the leader counts', async (t) => {
  const behind = miscounted(t, { records: [1, 2, 3], there: [1, 3], counted: 4 })
  t.equal(await behind.deletions.carryOver(3, 'a'), 'again')
  const both = miscounted(t, { records: [1, 2], there: [2, 3, 4], counted: 3 })
  t.equal(await both.deletions.carryOver(3, 'a'), 'missing', 'there are all that it counts')
  t.deepEqual([...behind.deleted, ...both.deleted], [])
})

/** How a mirror ends that gets these outcomes, one after the other, whenever it looks for deletions; the last one again and again. */
async function outcomeOf (outcomes) {
  const looks = []
  const mirror = Object.assign(Object.create(Mirror.prototype), {
    position: { id: 'a', seq: 1 },
    source: { id: 'a' },
    target: { label: 'stream' },
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

test('a mirror ends for records that the stream lacks only if it lacks them again and again, and they are not found', async (t) => {
  const times = (count, outcome) => new Array(count).fill(outcome)
  t.deepEqual(await outcomeOf(['missing']), { end: 'flumelog:invalid', compared: 1 })
  t.deepEqual(await outcomeOf([...times(19, 'missing'), 'done']), { end: 'done', compared: 1 })
  t.deepEqual(await outcomeOf([...times(50, 'again'), 'missing', 'done']), { end: 'done', compared: 0 }, 'while the stream was changing')
  t.deepEqual(await outcomeOf([...times(10, 'missing'), 'again', ...times(10, 'missing'), 'done']), { end: 'done', compared: 0 })
})

test('of two mirrors of a log, one at a time deletes, and each knows whether the other one held the lock since', async (t) => {
  const filename = testFolder(t)('log')
  fs.writeFileSync(`${filename}.mirror-id`, '')
  const locks = [1, 2].map(() => new MirrorLock(/** @type {any} */ ({ path: filename })))
  const wasAnother = (lock) => lock.whileHeld(async isAnother => isAnother)
  // all in one tick of the clock
  const { Date } = globalThis
  const now = Date.now()
  t.teardown(() => { globalThis.Date = Date })
  globalThis.Date = class extends Date {
    static now () { return now }
    constructor (time = now) { super(time) }
  }
  t.deepEqual([await wasAnother(locks[0]), await wasAnother(locks[0]), await wasAnother(locks[1]), await wasAnother(locks[0]), await wasAnother(locks[0])], [true, false, true, true, false])
  if (canLock) t.equal(await locks[0].whileHeld(() => locks[1].whileHeld(async () => 'both')), null)
})

/** The target of a mirror, at a stream with replicas whose servers say what they are given. */
async function openTarget (state, { direct = null, leader }) {
  const connection = new Connection(mirrorSettingsOf({ stream: 'S' }, {}).target, 'stream S')
  const config = { num_replicas: 3, retention: 'limits', allow_direct: true, allow_atomic: true, subjects: ['S.>'] }
  Object.assign(connection, { isConnected: true, nats: { info: {} }, open: async () => {}, streamInfo: async () => ({ config, state }) })
  connection.manager = /** @type {any} */ ({ direct: { getMessage: async () => direct }, streams: { getMessage: leader } })
  const target = new MirrorTarget(connection)
  target.identity = 'mine'
  await target.open()
  return target
}

function messageOf (seq) {
  const header = new Map([['Flumelog-Seq', String(10 * seq)], ['Flumelog-Id', 'a'], ['Flumelog-Log', 'mine']])
  return { seq, subject: 'S.mirror', data: Buffer.from('a'), time: new Date(), header }
}

test('the last message is found though servers that lag behind, or have hung, say that another one is', async (t) => {
  const answers = [null, messageOf(3)]
  const leader = async (stream, query) => query.last_by_subj ? messageOf(2) : answers.shift()
  const target = await openTarget({ first_seq: 1, last_seq: 3, messages: 3, num_subjects: 1 }, { leader })
  const { sequence, message } = await target.tail()
  t.deepEqual([sequence, message.sequence], [3, 3], 'what comes after an earlier one would be stored twice')
})

test('the last message is found though the server has miscounted', async (t) => {
  const found = async (state, last) => {
    const target = await openTarget(state, { leader: async () => null })
    target.reader.get = async () => null
    target.reader.previous = async () => last
    return target.tail()
  }
  const last = { ...messageOf(7), headers: messageOf(7).header }
  const message = { sequence: 7, id: 'a', seq: 70, data: last.data }
  t.deepEqual(await found({ first_seq: 7, last_seq: 8, messages: 0 }, last), { sequence: 8, messages: 0, message })
  t.deepEqual(await found({ first_seq: 7, last_seq: 8, messages: 1 }, null), { sequence: 8, messages: 1, message: null })
  t.deepEqual(await found({ first_seq: 9, last_seq: 8, messages: 0 }, last), { sequence: 8, messages: 0, message: null }, 'an empty stream has none')
})
