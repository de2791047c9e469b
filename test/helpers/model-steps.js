'use strict'

// Random calls on a log, with small blocks, where edge cases are common, and what an array
// answers to them.

const fc = require('fast-check')
const pull = require('pull-stream')
const { promisify } = require('util')
const { promises } = require('./promises')
const { modelOf } = require('./model')
const { part } = require('./part')

// A record consists of its number and padding, so that all are distinct and sorted.
const size = fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 3, max: 16 }) }, { weight: 3, arbitrary: fc.integer({ min: 3, max: 60 }) }, fc.constant(114), fc.integer({ min: 100, max: 1300 }))
const anywhere = part(-0.1, 1.1)
const bounds = fc.record({ gt: anywhere, gte: anywhere, lt: anywhere, lte: anywhere }, { requiredKeys: [] })
const options = fc.record({
  reverse: fc.boolean(), limit: fc.integer({ min: 0, max: 9 }), seqs: fc.boolean(), values: fc.boolean(), cache: fc.boolean(), reuse: fc.boolean()
}, { requiredKeys: [] })

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('append'), sizes: fc.array(size, { minLength: 1, maxLength: 1 }), isLikeChunk: fc.integer({ min: 0, max: 9 }).map(n => n === 0) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('batch'), sizes: fc.array(size, { maxLength: 12 }), sync: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('conditional'), sizes: fc.array(size, { minLength: 1, maxLength: 4 }), isLast: fc.boolean(), at: anywhere, inFlight: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('get'), at: anywhere, exact: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('previous'), at: anywhere, exact: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('del'), at: fc.array(anywhere, { minLength: 1, maxLength: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delRange'), bounds }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('trim'), at: anywhere, sizes: fc.array(size, { minLength: 4, maxLength: 20 }) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('read'), bounds, options }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('search'), at: anywhere }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('sync') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reopen') }) }
)

const setting = fc.record({
  blockSize: fc.constantFrom(128, 129, 160, 256, 1024),
  checksum: fc.boolean(),
  cacheSize: fc.constantFrom(0, 1500, 1 << 20),
  large: fc.boolean(),
  sync: fc.constantFrom('always', 'interval', 'never')
})

/**
 * Makes the same calls on a log and on an array.
 * @param {(options: object) => Promise<import('../..').Log>} open opens the log, for the first time or again
 * @param {object} settings of the log
 * @param {any[]} steps
 * @param {ReturnType<modelOf>} [model] the array
 */
async function compareWithModel (open, settings, steps, model = modelOf(settings)) {
  let log = promises(await open(settings))

  for (const step of steps) {
    const { end } = model
    const offset = (part) => Math.round(part * (end + 2))
    const near = (part, exact) => {
      const seqs = model.records.map(record => record.seq)
      return exact && seqs.length > 0 ? seqs[Math.min(seqs.length - 1, Math.max(0, Math.floor(part * seqs.length)))] : offset(part)
    }
    if (step.do === 'append') {
      const value = model.make(step.sizes[0], step.isLikeChunk && settings.large)
      same(await log.append(value), model.append([value]))
    } else if (step.do === 'batch') {
      const values = step.sizes.map(size => model.make(size))
      same(await log.append(values, { sync: step.sync }), model.append(values))
    } else if (step.do === 'conditional') {
      const before = step.inFlight ? model.make(step.sizes[0]) : null
      const appended = before === null ? null : log.append(before)
      const stale = near(step.at, true)
      if (before !== null) model.append([before])
      const last = model.since()
      const after = step.isLast ? last : stale
      const values = step.sizes.map(size => model.make(size))
      const found = await outcome(log.append(values, { after }))
      same(found, after === last ? model.append(values) : 'flumelog:conflict')
      await appended
    } else if (step.do === 'get') {
      const seq = near(step.at, step.exact)
      const found = await outcome(log.get(seq))
      if (!(found === 'flumelog:deleted' && model.mayBeInHole(seq))) same(found, model.get(seq))
    } else if (step.do === 'previous') {
      const seq = near(step.at, step.exact)
      same(await outcome(log.getPrevious(seq)), model.getPrevious(seq))
    } else if (step.do === 'del') {
      const seqs = step.at.map(part => near(part, true)).filter(seq => model.isRecord(seq))
      await Promise.all(seqs.map(seq => log.del(seq)))
      seqs.forEach(seq => model.del(seq))
    } else if (step.do === 'delRange') {
      const range = Object.fromEntries(Object.entries(step.bounds).map(([name, part]) => [name, offset(part)]))
      if (Object.keys(range).length === 0) continue
      await log.del(range)
      const from = Math.max(range.gte ?? 0, (range.gt ?? -1) + 1)
      for (const seq of model.stream({ ...range, values: false })) model.del(seq, from)
    } else if (step.do === 'trim') {
      // most logs have no more than a block or two
      const values = step.sizes.map(size => model.make(size))
      same(await log.append(values), model.append(values))
      const lt = step.at > 1 ? Infinity : Math.round(step.at * model.end)
      const start = await log.trim({ lt })
      const problem = model.trim(lt, start)
      if (problem !== null) throw new Error(`a log trimmed to ${lt} starts at ${start}: ${problem}`)
    } else if (step.do === 'read') {
      const range = Object.fromEntries(Object.entries(step.bounds).map(([name, part]) => [name, offset(part)]))
      await compareReads(log.log, model, range, step.options)
    } else if (step.do === 'search') {
      const wanted = Math.floor(step.at * model.records.length)
      const compare = (value) => model.numberOf(value) - 1 - wanted
      same(await outcome(log.search(compare)), model.search(compare))
    } else if (step.do === 'sync') {
      await log.sync()
    } else if (step.do === 'reopen') {
      await log.close()
      log = promises(await open({ ...settings, blockSize: undefined, block: settings.blockSize }))
      await log.onReady()
    }
    if (model.records.length > 0) same(log.log.since.value, model.since())
  }
  const limit = 1 + Math.floor(model.records.length / 2)
  for (const options of [{}, { reverse: true, reuse: true }, { limit, seqs: false }, { reverse: true, limit, values: false }]) await compareReads(log.log, model, {}, options)
  await log.close()
}

/** What a stream, batches and a scan give. */
async function compareReads (log, model, range, { reuse, ...options }) {
  const all = { ...range, ...options, fromStart: true }
  same(await promisify(cb => pull(log.stream(all), pull.collect(cb)))(), model.stream(all))
  const batches = await promisify(cb => pull(log.batches(all), pull.collect(cb)))()
  if (batches.some(batch => batch.length === 0)) throw new Error('a batch is empty')
  same(batches.flat(), model.stream(all))
  const { reverse, cache } = options
  const found = []
  await promisify(log.scan)({ ...range, fromStart: true, reverse, cache, reuse }, (block, start, end, seq) => {
    found.push({ seq, value: Buffer.from(block.subarray(start, end)) })
  })
  same(found, model.stream({ ...range, reverse }))
}

function same (actual, expected) {
  const show = value => JSON.stringify(value, (_, v) => v?.type === 'Buffer' ? Buffer.from(v.data).toString('hex') : v)
  if (show(actual) !== show(expected)) throw new Error(`the log says ${show(actual)}, the array ${show(expected)}`)
}

async function outcome (promise) {
  try {
    return await promise
  } catch (err) {
    if (typeof err.code !== 'string' || !err.code.startsWith('flumelog:')) throw err
    return err.code
  }
}

module.exports = { compareWithModel, setting, step }
