'use strict'

// Options that do not exist are refused, wherever options are taken, with the names of those that do.

const fs = require('fs')
const path = require('path')
const pull = require('pull-stream')
const test = require('tape')
const FlumeLog = require('../..')
const { open, wrap } = require('../../promises')
const { newFile } = require('../helpers/folder')
const { promises } = require('../helpers/promises')
const { collect, codeOf, event } = require('../helpers/reading')

const LIB = path.join(__dirname, '..', '..', 'lib')

/** The message of the error that a call ends with; null if it succeeds. */
const messageOf = async (run) => {
  try {
    await run()
    return null
  } catch (err) {
    return err.code === 'flumelog:invalid' ? err.message : `${err.code}: ${err.message}`
  }
}

/** Each place that takes options: calls it with them, and an option, with how somebody may have misspelled it. */
const PLACES = {
  FlumeLog: { of: 'the log', option: 'blockSize', wrong: 'blocksize', call: async (log, options) => { FlumeLog(newFile(), options).close() } },
  open: { of: 'the log', option: 'readOnly', wrong: 'readonly', call: async (log, options) => (await open(newFile(), options)).close() },
  append: { option: 'sync', wrong: 'synch', call: (log, options) => promises(log).append('x', options) },
  'append, with promises': { of: 'append', option: 'atomic', wrong: 'atmoic', call: (log, options) => wrap(log).append(['x'], options) },
  scan: { option: 'reuse', wrong: 'resue', call: (log, options) => wrap(log).scan(options, () => {}) },
  sink: { option: 'sync', wrong: 'snyc', call: (log, options) => event(resolve => pull(pull.values(['x']), log.sink(options, resolve))).then(rethrow) },
  'stream, with promises': { of: 'stream', option: 'signal', wrong: 'singal', call: (log, options) => all(wrap(log).stream(options)) },
  'batches, with promises': { of: 'batches', option: 'live', wrong: 'life', call: (log, options) => all(wrap(log).batches(options)) },
  appendFrom: { option: 'signal', wrong: 'signl', call: (log, options) => wrap(log).appendFrom(['x'], options) },
  'since.next': { option: 'signal', wrong: 'sginal', call: (log, options) => changed(wrap(log), options) },
  'since.changes': { option: 'signal', wrong: 'signals', call: async (log, options) => { wrap(log).since.changes(options).return() } }
}

for (const [place, { of = place, option, wrong, call }] of Object.entries(PLACES)) {
  test(`${place} refuses an option that does not exist, and lists those that do`, async (t) => {
    const log = FlumeLog(newFile())
    await promises(log).append('first')
    t.match(await messageOf(() => call(log, { [wrong]: true })), new RegExp(`^unknown option \`${wrong}\` of ${of}: it takes .*\`${option}\``))
    t.ok(await messageOf(() => call(log, Object.create({ [wrong]: true }))), 'also one that is inherited')
    const bare = Object.assign(Object.create(null), { [wrong]: true })
    t.ok(await messageOf(() => call(log, bare)), 'also in an object without a prototype')
    t.equal((await collect(log)).length, 1, 'nothing was stored')

    t.equal(await messageOf(() => call(log, {})), null)
    t.equal(await messageOf(() => call(log, { [wrong]: undefined, [option]: undefined })), null, 'undefined counts as not given')
    t.equal(await messageOf(() => call(log, Object.create(null))), null)
    t.equal(log.stats().streams, 0)
    await promises(log).close()
  })
}

test('an append with an unknown option is reported like any other failure', async (t) => {
  const log = promises(FlumeLog(newFile()))
  log.log.append('x', { synch: true })
  t.equal(await codeOf(log.onDrain()), 'flumelog:invalid', 'without a callback: by the next onDrain')
  await log.close()
})

test('inherited options have the effect that own ones have', async (t) => {
  const log = FlumeLog(newFile())
  await promises(log).append(['one', 'two', 'three'])
  const seqs = await collect(log, Object.create({ values: false }))
  t.deepEqual(await collect(log, Object.create({ values: false, reverse: true })), seqs.toReversed())
  const given = []
  for await (const seq of wrap(log).stream(Object.create({ values: false, gt: seqs[0] }))) given.push(seq)
  t.deepEqual(given, seqs.slice(1), 'also through a wrapper')
  await promises(log).close()
})

test('a stream ignores options of the layers above', async (t) => {
  const log = FlumeLog(newFile())
  await promises(log).append(['one', 'two'])
  const all = await collect(log)
  const passed = {
    'ssb-db, createLogStream': { keys: true, values: true, raw: true, private: true, meta: true, fillCache: false, keyEncoding: 'utf8', valueEncoding: 'json' },
    'ssb-db, createRawLogStream, from any client': { source: true, awaitReady: false, since: -1, somethingElse: 0 },
    'ssb-db2, migrate': { keys: true, seqs: true, value: true, sync: false, reverse: false, codec: {}, old: true, live: false, gte: 0 },
    'ssb-db2 and jitdb': { decrypt: false, updatePrivateIndex: true },
    'flumeview-query': { scan: true, createStream: () => {}, reverse: false, live: false, old: true, sync: false, seqs: true, values: true, index: 'a', scores: [] },
    'flumeview-links': { values: true, seqs: true, live: undefined, old: undefined, limit: undefined, reverse: undefined, unlinkedValues: true }
  }
  for (const [by, options] of Object.entries(passed)) {
    t.deepEqual(await collect(log, options), all, by)
  }
  await promises(log).close()
})

test('the names that are checked are those that are documented', (t) => {
  const documented = (file, ...types) => types.flatMap(type => propertiesOf(fs.readFileSync(path.join(LIB, file), 'utf8'), type)).sort()
  t.deepEqual(namesOf('options.js', (options) => FlumeLog(newFile(), options)), documented('options.js', 'Options'))
  const { STREAM_NAMES } = require('../../lib/read/options')
  t.deepEqual([...STREAM_NAMES].sort(), documented('read/options.js', 'RangeOptions', 'StreamOnlyOptions'))
  t.deepEqual(namesOf('read/options.js', require('../../lib/read/options').scanRangeOf), documented('read/options.js', 'RangeOptions', 'ScanOnlyOptions'))
  t.end()
})

/** The names that a call lists when it is given one that is like none of them. */
function namesOf (file, call) {
  try {
    call({ somethingElse: 1 })
  } catch (err) {
    return [...err.message.split('it takes ')[1].matchAll(/`(\w+)`/g)].map(match => match[1]).sort()
  }
}

function propertiesOf (text, type) {
  const [own] = text.slice(text.indexOf(`@typedef {object} ${type}\n`) + 1).split(/@typedef|\*\//)
  return [...own.matchAll(/@property \{.*\} \[(\w+)\]/g)].map(match => match[1])
}

function rethrow (err) {
  if (err) throw err
}

async function all (iterator) {
  for await (const item of iterator) if (item === null) break
}

/** Waits for a change, or stops waiting. */
async function changed (log, options) {
  const next = log.since.next(options)
  const isRefused = await Promise.race([next.then(() => false, () => true), new Promise(resolve => setImmediate(resolve, false))])
  if (isRefused) await next
}

test('options that are inherited, or not enumerable, count in the log and in its wrappers', async (t) => {
  const log = FlumeLog(newFile())
  await promises(log).append(['first', 'second', 'third'])
  class Backwards { get reverse () { return true } }
  const proxy = new Proxy({}, { get: (_, name) => name === 'reverse' ? true : undefined })
  for (const options of [new Backwards(), proxy, Object.create({ reverse: true }), Object.defineProperty({}, 'reverse', { value: true })]) {
    const expected = (await collect(log)).reverse()
    t.deepEqual(await collect(log, options), expected)
    const read = []
    for await (const record of wrap(log).stream(options)) read.push(record)
    t.deepEqual(read, expected)
  }
  await promises(log).close()
})

test('names that every object has are no options, nor are the entries of a collection', async (t) => {
  const log = FlumeLog(newFile())
  await promises(log).append('first')
  for (const json of ['{ "__proto__": { "limit": 1 } }', '{ "toString": 1 }', '{ "constructor": true }']) {
    t.equal((await collect(log, JSON.parse(json))).length, 1, json)
    t.match(await messageOf(() => all(wrap(log).stream(JSON.parse(json)))), /^unknown option/)
    t.match(await messageOf(() => wrap(log).append('x', JSON.parse(json))), /^unknown option/)
  }
  for (const options of [new Map([['sync', true]]), new Set(), []]) t.match(await messageOf(() => wrap(log).append('x', options)), /must be an object/)
  t.match(await messageOf(() => wrap(log).append('x', () => {})), /takes no callback/)
  t.match(await messageOf(() => wrap(log).compact(() => {})), /takes no callback/)
  t.match(await messageOf(() => wrap(log).backup(newFile(), () => {})), /takes no callback/)
  await promises(log).close()
})

test('an option that throws is the error of the call', async (t) => {
  const log = FlumeLog(newFile())
  await promises(log).append('first')
  const reason = new Error('a getter')
  const throwing = (name, thrown) => Object.defineProperty({}, name, { get () { throw thrown } })
  const sunk = (options) => event(resolve => pull(pull.values(['x']), log.sink(options, resolve)))
  t.equal(await sunk(throwing('sync', reason)), reason)
  t.equal((await sunk(throwing('sync', null))).code, 'flumelog:invalid')
  for (const run of [(options) => collect(log, options), (options) => all(wrap(log).stream(options)), (options) => wrap(log).scan(options, () => {})]) {
    t.equal(await run(throwing('gt', reason)).catch(err => err), reason)
    t.equal(await codeOf(run(throwing('gt', null))), 'flumelog:invalid')
  }
  await promises(log).close()
})
