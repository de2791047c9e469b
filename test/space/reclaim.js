'use strict'

// reclaim frees the space of all blocks whose records are deleted, however they came to be so.

const fs = require('fs')
const tape = require('tape')
const FlumeLog = require('../..')
const layout = require('../../lib/format/layout')
const { writeChecksum } = require('../../lib/format/checksum')
const { holeOf } = require('../../lib/format/hole')
const { testFolder } = require('../helpers/folder')
const { promises } = require('../helpers/promises')
const { codeOf, collect } = require('../helpers/reading')

const BLOCK_SIZE = 65536
const BLOCKS = 40
/** Bytes of a hole's whole pages. */
const FREED = BLOCK_SIZE - 8192

/** A closed log of full blocks and a tail, in which `change` has changed each block. */
async function logWith (file, change) {
  const log = promises(FlumeLog(file))
  await log.append(Array.from({ length: BLOCKS * 65 + 1 }, () => Buffer.alloc(1000, 1)))
  const seqs = await collect(log.log, { values: false })
  await log.close()
  const bytes = fs.readFileSync(file)
  for (let number = 0; number < BLOCKS; number++) change(bytes.subarray(number * BLOCK_SIZE, (number + 1) * BLOCK_SIZE), number)
  fs.writeFileSync(file, bytes)
  return seqs
}

/** As an earlier version deletes all records of a block. */
function erase (block) {
  for (let position = 0; position < layout.paddingStart(block); position = layout.nextPosition(block, position)) layout.zeroRecord(block, position)
  writeChecksum(block)
}

tape('blocks that an earlier version has emptied, and holes that a crash has left unpunched, are freed', async (t) => {
  const file = testFolder(t)('log')
  const seqs = await logWith(file, (block, number) => {
    if (number % 4 === 1) erase(block)
    if (number % 4 === 2) holeOf(BLOCK_SIZE, true).copy(block)
  })
  const log = promises(FlumeLog(file))
  await log.onReady()
  const before = log.log.stats().allocated
  const expected = seqs.filter(seq => ![1, 2].includes(Math.floor(seq / BLOCK_SIZE) % 4))
  t.deepEqual(await collect(log.log, { values: false }), expected)
  const freed = await log.reclaim()
  if (log.log.stats().holes) {
    t.equal(freed.blocks, BLOCKS / 2)
    // the file system may need a page or two for its lists of pages
    t.ok(freed.bytes > BLOCKS / 2 * FREED - 8192 && freed.bytes <= BLOCKS / 2 * FREED, `${freed.bytes}`)
    t.ok(before - log.log.stats().allocated >= freed.bytes - 8192)
  } else t.deepEqual(freed, { blocks: 0, bytes: 0 })
  t.deepEqual(await log.reclaim(), { blocks: 0, bytes: 0 }, 'then there is nothing left to free')
  t.deepEqual(await collect(log.log, { values: false }), expected)
  await log.close()
  const again = promises(FlumeLog(file))
  t.deepEqual(await collect(again.log, { values: false }), expected)
  await again.close()
})

tape('the log goes on meanwhile, and progress is told', async (t) => {
  const file = testFolder(t)('log')
  const seqs = await logWith(file, (block, number) => { if (number < BLOCKS - 2) erase(block) })
  const log = promises(FlumeLog(file, { sync: 'always' }))
  await log.onReady()
  const told = []
  let isOver = false
  const reclaimed = new Promise((resolve, reject) => log.log.reclaim({ onProgress: (progress) => told.push(progress) }, (err, freed) => err ? reject(err) : resolve(freed)))
    .finally(() => { isOver = true })
  let appended = 0
  for (;;) {
    const value = Buffer.alloc(100, 1 + appended % 250)
    const seq = await log.append(value)
    appended++
    if (!(await log.get(seq)).equals(value)) t.fail('it is not what was appended')
    if (appended % 3 === 0) await log.del(seq)
    if (isOver) break
  }
  await reclaimed
  t.ok(appended > 0)
  t.ok(told.length > 1)
  t.deepEqual(told.at(-1), { bytes: told[0].total, total: told[0].total })
  t.ok(told.every(({ bytes }, i) => i === 0 || bytes > told[i - 1].bytes))
  t.equal((await collect(log.log)).length, seqs.filter(seq => seq >= (BLOCKS - 2) * BLOCK_SIZE).length + appended - Math.floor(appended / 3))
  await log.close()
})

tape('it ends with its signal, with what onProgress throws, and when the log is closed', async (t) => {
  const file = testFolder(t)('log')
  await logWith(file, erase)
  const log = promises(FlumeLog(file))
  const controller = new AbortController()
  const reclaim = (options) => new Promise((resolve, reject) => log.log.reclaim(options, (err, freed) => err ? reject(err) : resolve(freed)))
  controller.abort(new Error('enough'))
  t.equal(await reclaim({ signal: controller.signal }).catch(err => err.message), 'enough')
  t.equal(await reclaim({ onProgress () { throw new Error('no more') } }).catch(err => err.message), 'no more')
  for (const options of [{ progress: () => {} }, { onProgress: 1 }, { signal: {} }, 7]) t.equal(await codeOf(reclaim(options)), 'flumelog:invalid', Object.keys(options)[0])
  for (const options of [{ signal: AbortSignal.abort(null) }, { onProgress () { throw null } }]) { // eslint-disable-line no-throw-literal
    t.equal(await reclaim(options).catch(err => err.reason), null, 'with an error, if the reason is null')
  }
  const running = codeOf(log.reclaim())
  await log.close()
  t.ok([null, 'flumelog:closed'].includes(await running))
  t.equal(await codeOf(log.reclaim()), 'flumelog:closed')
})

tape('an empty log, and one without deletions, have nothing to be freed', async (t) => {
  const log = promises(FlumeLog(testFolder(t)('log')))
  t.deepEqual(await log.reclaim(), { blocks: 0, bytes: 0 })
  for (let i = 0; i < 200; i++) await log.append(Buffer.alloc(1000, 1))
  t.deepEqual(await log.reclaim(), { blocks: 0, bytes: 0 })
  t.equal((await collect(log.log)).length, 200)
  await log.close()
})
