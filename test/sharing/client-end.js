'use strict'

// What a client of a shared log shows of the block in which the log ends, while it reads that block again
// because the owner has told it of a deletion.

const tape = require('tape')
const FlumeLog = require('../..')
const layout = require('../../lib/format/layout')
const { logBehind } = require('../../lib/log')
const { systemClock } = require('../../lib/clock')
const { Block } = require('../../lib/format/block')
const { BlockCache } = require('../../lib/read/block-cache')
const { deletionOf } = require('../../lib/recovery/deletions')
const { Owner } = require('../../lib/sharing/owner')
const { ClientEnd } = require('../../lib/sharing/client-end')
const { testFolder } = require('../helpers/folder')
const { until } = require('../helpers/followers')
const { numbered } = require('../helpers/numbered')
const { promises } = require('../helpers/promises')
const { codeOf, collect } = require('../helpers/reading')
const { sharer, shared } = require('../helpers/sharing')

const BLOCK_SIZE = 256
const RECORD = Buffer.alloc(20, 7)
/** Bytes of a record with its lengths. */
const SIZE = 24

/** The end of a client, of a log of some records, whose recovery point is read when the test says so. */
function clientEnd () {
  const file = Buffer.alloc(BLOCK_SIZE)
  for (let position = 0; position < 8 * SIZE;) position = layout.writeRecord(file, position, RECORD)
  /** @type {any} */
  let recorded = { id: 'a', writer: 'w', offset: 0, deletions: [], dropped: 0, isHeld: true, acknowledged: file.length }
  let isHeld = false
  /** @type {Array<{ answer: () => void, fail: (err: Error) => void }>} */
  const reads = []
  const io = {
    readPoint: () => isHeld ? new Promise((resolve, reject) => reads.push({ answer: () => resolve(recorded), fail: reject })) : Promise.resolve(recorded),
    size: async () => file.length,
    read: async (/** @type {number} */ offset, /** @type {number} */ size) => Buffer.from(file.subarray(offset, offset + size))
  }
  const logFile = /** @type {any} */ ({
    filename: 'log',
    point: { peek: () => recorded.id },
    readSmall: (/** @type {number} */ offset, /** @type {number} */ size, /** @type {boolean} */ _, /** @type {Function} */ cb) => io.read(offset, size).then(data => cb(null, data))
  })
  const blocks = new BlockCache(logFile, { blockSize: BLOCK_SIZE, checksum: true, cacheSize: 0 })
  blocks.tail = new Block(0, Buffer.alloc(BLOCK_SIZE), 0, false)
  const end = new ClientEnd(logFile, /** @type {any} */ (io), blocks, systemClock, { onfresh: () => {}, onread: () => {}, onwait: () => {}, onfailure: (err) => { throw err } })
  return {
    end,
    hold: (/** @type {boolean} */ mustHold) => { isHeld = mustHold },
    /** Lets reads go on until none is pending. */
    async readAll () {
      isHeld = false
      while (reads.length > 0) {
        reads.shift()?.answer()
        await turn()
      }
    },
    async fail (/** @type {Error} */ err) {
      while (reads.length > 0) reads.shift()?.fail(err)
      await turn()
    },
    deleteAt (/** @type {number} */ position) {
      const deletions = [...recorded.deletions, { ...deletionOf(0, file, [position], null), number: recorded.deletions.length + 1 }]
      recorded = { ...recorded, id: `${recorded.id}+1`, deletions }
    },
    fresh: () => new Promise((resolve, reject) => end.whenFresh(err => err ? reject(err) : resolve(null))),
    isDeleted: (/** @type {number} */ position) => layout.isDeleted(blocks.tail.buffer, position)
  }
}

const turn = () => new Promise(resolve => setImmediate(resolve))

tape('a stream that begins to wait while the tail is read again does not bring back a deleted record for other readers', async (t) => {
  const { end, fresh, hold, deleteAt, readAll, isDeleted } = clientEnd()
  end.tell(4 * SIZE, 3 * SIZE)
  await fresh()
  hold(true)
  deleteAt(SIZE)
  end.rewritten([0])
  const first = fresh()
  await turn()
  end.hold(true)
  await turn()
  t.notOk(end.isFresh, 'the tail is still being read')
  let isAnswered = false
  const second = fresh().then(() => { isAnswered = true })
  await turn()
  t.notOk(isAnswered, 'who reads now waits')
  await readAll()
  await Promise.all([first, second])
  t.ok(isDeleted(SIZE) && end.isFresh, 'and gets it without the record')
})

tape('a tail that could not be read again after a deletion is not shown as it was', async (t) => {
  const { end, fresh, hold, deleteAt, fail, readAll, isDeleted } = clientEnd()
  end.tell(4 * SIZE, 3 * SIZE)
  await fresh()
  hold(true)
  deleteAt(SIZE)
  end.rewritten([0])
  const first = codeOf(fresh())
  await turn()
  await fail(Object.assign(new Error('too many open files'), { code: 'EMFILE' }))
  t.equal(await first, 'EMFILE')
  end.tell(4 * SIZE, 3 * SIZE)
  t.notOk(end.isFresh)
  const second = fresh()
  await turn()
  await readAll()
  await second
  t.ok(isDeleted(SIZE), 'it is read when that is possible')
})

tape('who waits for the tail while the log is closed is told that, whatever the read says that was in progress', async (t) => {
  const { end, fresh, hold, deleteAt, fail } = clientEnd()
  end.tell(4 * SIZE, 3 * SIZE)
  await fresh()
  hold(true)
  deleteAt(SIZE)
  end.rewritten([0])
  const code = codeOf(fresh())
  await turn()
  end.close()
  await fail(new Error('Closed'))
  t.equal(await code, 'flumelog:closed')
})

tape('a client that is told of a deletion before it is told that the log has the record shows it as deleted', async (t) => {
  const { end, fresh, deleteAt, isDeleted } = clientEnd()
  end.hold(true)
  end.tell(4 * SIZE, 3 * SIZE)
  await fresh()
  deleteAt(5 * SIZE)
  // both are told together, in this order
  end.rewritten([0])
  end.tell(8 * SIZE, 7 * SIZE)
  await fresh()
  t.ok(isDeleted(5 * SIZE))
  t.notOk(isDeleted(4 * SIZE))
})

tape('a client that takes over shows no record whose deletion it was acknowledged, also before it has recovered the log', async (t) => {
  const file = testFolder(t)('log')
  // the log's file gets the zeros only when it is closed
  const owner = sharer(t, file, { sync: 'never', blockSize: 256 })
  await owner.opened()
  const client = shared(file, { cacheSize: 0, sync: 'never' })
  const [first] = await Promise.all(client.number(1, 40))
  await client.get(first)
  await client.del(first)
  const { open } = Owner.prototype
  t.teardown(() => { Owner.prototype.open = open })
  let code
  Owner.prototype.open = async function (...args) {
    code ??= await codeOf(client.get(first))
    return open.apply(this, args)
  }
  await owner.kill()
  await client.append(numbered(41, 20))
  t.equal(client.log.role, 'owner')
  t.equal(code, 'flumelog:deleted', 'while it takes over')
  t.equal(await codeOf(client.get(first)), 'flumelog:deleted', 'and after that')
  await client.close()
})

tape('getPrevious does not take it for the start of the log that a compaction has moved the record meanwhile', async (t) => {
  const file = testFolder(t)('log')
  const options = { blockSize: 256, shared: true, cacheSize: 0 }
  const owner = promises(FlumeLog(file, options))
  const seqs = []
  for (let i = 1; i <= 40; i++) seqs.push(await owner.append(numbered(i, 20)))
  const client = promises(FlumeLog(file, options))
  await client.get(seqs[20])
  const { blocks } = logBehind(client.log).state.opened
  const { load } = blocks.loader
  let release
  const isReleased = new Promise(resolve => { release = resolve })
  blocks.loader.load = (first, count, how, cb) => load.call(blocks.loader, first, count, how, loaded => isReleased.then(() => process.nextTick(cb, loaded)))
  const code = codeOf(client.getPrevious(seqs[20]))
  await owner.del(seqs[30])
  await new Promise((resolve, reject) => owner.log.compact(err => err ? reject(err) : resolve()))
  // nothing else keeps the process alive meanwhile
  await until(() => client.log.id === owner.log.id)
  release()
  t.equal(await code, 'flumelog:trimmed')
  await client.close()
  await owner.close()
})

tape('a stream or a scan that waits for the end of a log while that is compacted has the bounds that were meant', async (t) => {
  const file = testFolder(t)('log')
  const options = { blockSize: 256, shared: true }
  const owner = promises(FlumeLog(file, options))
  const seqs = []
  for (let i = 1; i <= 40; i++) seqs.push(await owner.append(numbered(i, 20)))
  const client = promises(FlumeLog(file, options))
  await client.get(seqs[20])
  const { follower } = logBehind(client.log).state.opened
  const { point } = follower
  let release
  const isReleased = new Promise(resolve => { release = resolve })
  await owner.del(seqs[5])
  const last = await owner.append(numbered(41, 20))
  while (client.log.since.value < last) await turn()
  point.read = () => isReleased.then(() => Object.getPrototypeOf(point).read.call(point))
  const all = { gt: seqs[3], lt: seqs[7], fromStart: true }
  const read = [all, { ...all, reverse: true }, { gt: seqs[38] }, { lte: seqs[0] }, { lt: seqs[0] }, { gt: seqs[38], live: true, limit: 2 }].map(options => collect(client.log, options))
  const scanned = []
  const scan = new Promise((resolve, reject) => client.log.scan({ lt: seqs[3] }, (block, start) => { scanned.push(block.readUInt32LE(start)) }, err => err ? reject(err) : resolve()))
  const found = Promise.all(read)
  const compacted = new Promise((resolve, reject) => owner.log.compact(err => err ? reject(err) : resolve()))
  while (!follower.isStopped) await turn()
  release()
  await compacted
  t.deepEqual((await found).map(records => records.map(({ value }) => value.readUInt32LE(0))), [[5, 7], [7, 5], [40, 41], [1], [], [40, 41]])
  await scan
  t.deepEqual(scanned, [1, 2, 3])
  await client.close()
  await owner.close()
})

tape('blocks that streams of a client read as soon as the log is another file are compared with the recovery point of that', (t) => {
  const { end } = clientEnd()
  end.moved(0, -1)
  t.equal(end.blocks.followedPoint, end.point)
  t.end()
})
