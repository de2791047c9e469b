'use strict'

// The log with push-streams: what sinks written for flumelog-aligned-offset or
// async-append-only-log receive, and when.

const tape = require('tape')
const fc = require('fast-check')
const RAM = require('random-access-memory')
const Collect = require('push-stream/collect')
const Async = require('push-stream/async')
const toPull = require('push-stream-to-pull-stream/source')
const pull = require('pull-stream')
const push = require('../../push')
const AsyncAppendOnlyLog = require('async-append-only-log')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { promises } = require('../helpers/promises')
const { collect, event } = require('../helpers/reading')
const { strictSource } = require('../helpers/strict-source')
const { uncaughtDuring } = require('../helpers/uncaught')
const { withAligned, appendAligned } = require('../helpers/aligned')

const BLOCK_SIZE = 64
const COUNT = 500

tape('a sink that never pauses receives all records, then the end', async (t) => {
  const log = await logOf(COUNT)
  const expected = await collect(log)
  t.deepEqual(await collected(push(log).stream()), expected)
  t.deepEqual(await collected(push(log).stream({ reverse: true })), expected.slice().reverse())
  t.deepEqual(await collected(push(log).stream({ values: false, gte: expected[10].seq, limit: 5 })),
    expected.slice(10, 15).map(({ seq }) => seq))
  t.deepEqual(await collected(push(log).stream({ seqs: false, lt: 0 })), [])
  t.equal(log.stats().streams, 0)
  await promises(log).close()
})

tape('a sink written for flumelog-aligned-offset receives the same from both logs', async (t) => {
  const file = testFolder(t)('log')
  const records = Array.from({ length: 100 }, (_, i) => Buffer.from(`record ${i}`))
  const whole = await logOf(0, { checksum: false })
  await promises(whole).append(records)
  await appendAligned(file, BLOCK_SIZE, records, whole.stats().size)
  const seqs = await collect(whole, { values: false })
  // its bounds must be offsets of records
  for (const options of [{}, { values: false }, { seqs: false }, { gt: seqs[5], lt: seqs[50] }, { gte: seqs[5] }]) {
    const ours = await written(push(whole).stream(options))
    await withAligned(file, BLOCK_SIZE, async (log) => {
      t.deepEqual(ours, await written(log.stream(options)), JSON.stringify(options))
    })
  }
  await promises(whole).close()
})

tape('a sink written for async-append-only-log receives the same records from both logs', async (t) => {
  const records = Array.from({ length: 100 }, (_, i) => Buffer.from(`record ${i}`))
  const other = AsyncAppendOnlyLog(testFolder(t)('log'), { blockSize: BLOCK_SIZE })
  for (const record of records) await event(resolve => other.append(record, resolve))
  await event(resolve => other.onDrain(resolve))
  const log = await logOf(0)
  await promises(log).append(records)
  const given = async (source) => {
    const { given, ended } = pausing(source, ['none', 'tick', 'immediate'], false)
    await ended
    return given.items.map(String)
  }
  t.deepEqual(await given(push(log).stream({ seqs: false })), await given(other.stream({ offsets: false })))
  t.deepEqual(await given(push(log).stream({ seqs: false, limit: 7 })), await given(other.stream({ offsets: false, limit: 7 })))
  await promises(log).close()
  await event(resolve => other.close(resolve))
})

tape('a sink that pauses in every write of a live stream receives all records, except those deleted before', async (t) => {
  for (const pause of ['within', 'tick', 'immediate']) {
    const log = await logOf(10)
    const { append, del, close } = promises(log)
    const { given, ended } = pausing(push(log).stream({ live: true, seqs: false }), [pause], false)
    const expected = (await collect(log, { seqs: false })).map(String)
    for (let i = 0; i < 200; i++) {
      await append([Buffer.from(`live ${i}`), Buffer.from(`also ${i}`)])
      expected.push(`live ${i}`, `also ${i}`)
      if (i % 20 === 0) await del(0)
    }
    while (given.items.length < expected.length) await event(setImmediate)
    t.deepEqual(given.items.map(String), expected, pause)
    t.equal(given.wrongly, 0, 'none while it was paused')
    await close()
    await ended
  }
})

tape('a sink that pauses in any write, and resumes immediately or later, receives all records in order', async (t) => {
  for (const reopened of [false, true]) {
    const file = testFolder(t)('log')
    let log = await logOf(COUNT, { file })
    const expected = (await collect(log, { seqs: false })).map(String)
    if (reopened) {
      await promises(log).close()
      log = FlumeLog(file, { cacheSize: 0 })
    }
    const wrapped = push(log)
    const pauses = fc.array(fc.constantFrom('none', 'within', 'tick', 'immediate'), { minLength: 1, maxLength: 40 })
    await fc.assert(fc.asyncProperty(pauses, fc.boolean(), async (pauses, startsPaused) => {
      const { given, ended } = pausing(wrapped.stream({ seqs: false }), pauses, startsPaused)
      await ended
      t.equal(given.wrongly, 0, `never while it was paused${reopened ? ', from the file' : ''}`)
      t.deepEqual(given.items.map(String), expected, `${given.items.length} records`)
    }), { numRuns: 40, examples: ['within', 'tick', 'immediate'].map(pause => [[pause], true]) })
    await promises(log).close()
  }
})

tape('a record that is read while the sink is paused is held', async (t) => {
  const file = testFolder(t)('log')
  await promises(await logOf(COUNT, { file })).close()
  const log = FlumeLog(file, { cacheSize: 0 })
  const given = []
  let source
  const end = event(resolve => {
    const sink = { paused: false, write: item => given.push(item), end: resolve }
    source = push(log).stream()
    source.pipe(sink)
    // the read is pending, and so is that of the block
    sink.paused = true
  })
  await promises(log).onReady()
  while (!source.hasAnswer) await event(setImmediate)
  t.deepEqual(given, [], 'nothing is written')
  source.sink.paused = false
  source.resume()
  t.equal(given.length > 0, true, 'it is written when the sink resumes')
  t.equal(await end, null)
  t.deepEqual(given, await collect(log))
  await promises(log).close()
})

tape('abort closes the stream, and calls end of the sink', async (t) => {
  const log = await logOf(COUNT)
  const { append, close } = promises(log)
  const failure = new Error('no more')
  for (const [reason, expected] of [[undefined, null], [true, null], [failure, failure]]) {
    const sink = { paused: false, count: 0, ends: [], write () { this.count++ }, end (err) { this.ends.push(err) } }
    const source = push(log).stream({ live: true })
    source.pipe(sink)
    const { count } = sink
    source.abort(reason)
    source.abort(reason)
    await append(Buffer.from('later'))
    source.resume()
    t.equal(sink.count, count, 'nothing comes after it')
    t.deepEqual(sink.ends, [expected], 'the sink is told once')
    t.equal(log.stats().streams, 0)
  }
  const early = push(log).stream()
  early.abort()
  early.pipe({ paused: false, write: () => t.fail('aborted before it was piped'), end: () => t.fail('it had no sink to tell') })
  t.equal(log.stats().streams, 0)
  await close()
})

tape('abort from within write closes the stream', async (t) => {
  const log = await logOf(COUNT)
  const given = []
  const ends = []
  const source = push(log).stream({ seqs: false })
  source.pipe({
    paused: false,
    write (item) {
      given.push(item)
      if (given.length === 7) source.abort()
    },
    end: (err) => ends.push(err)
  })
  t.equal(given.length, 7)
  t.deepEqual(ends, [null])
  t.equal(log.stats().streams, 0)
  await promises(log).close()
})

tape('a sink that has set `ended` receives nothing more, and its stream is closed', async (t) => {
  const log = await logOf(COUNT)
  let count = 0
  push(log).stream({ live: true }).pipe({
    paused: false,
    ended: false,
    write () { this.ended = ++count === 3 },
    end: () => t.fail('it knows')
  })
  t.equal(count, 3)
  t.equal(log.stats().streams, 0)
  await promises(log).close()
})

tape('abort does not call end of a sink that has set `ended`', async (t) => {
  const log = await logOf(COUNT)
  const source = push(log).stream()
  let count = 0
  source.pipe({
    paused: false,
    ended: false,
    write () {
      if (++count < 3) return
      this.ended = true
      source.abort()
    },
    end: () => t.fail('it knows')
  })
  t.equal(count, 3)
  t.equal(log.stats().streams, 0)
  await promises(log).close()
})

tape('the underlying pull-stream is never read concurrently, or after its end', async (t) => {
  const log = await logOf(5)
  const strict = push({ ...log, stream: (options) => strictSource(t, log.stream(options)) })
  const given = []
  const source = strict.stream({ live: true, seqs: false })
  source.pipe({ paused: false, write: item => given.push(String(item)) })
  source.resume()
  source.resume()
  await promises(log).append(Buffer.from('a live one'))
  source.abort()
  source.resume()
  t.equal(given.length, 6)
  t.equal((await collected(strict.stream())).length, 6)
  await promises(log).close()
})

tape('the end waits while the sink is paused, an error does not', async (t) => {
  const log = await logOf(3)
  const sink = { paused: false, count: 0, ends: [], write () { this.paused = ++this.count === 3 }, end (err) { this.ends.push(err) } }
  const source = push(log).stream()
  source.pipe(sink)
  t.equal(sink.count, 3)
  t.deepEqual(sink.ends, [], 'not while it is paused')
  sink.paused = false
  source.resume()
  t.deepEqual(sink.ends, [null])

  const waiting = { paused: false, write () {}, ends: [], end (err) { this.ends.push(err.code) } }
  push(FlumeLog(testFolder(t)('missing'), { readOnly: true })).stream().pipe(waiting)
  waiting.paused = true
  while (waiting.ends.length === 0) await event(setImmediate)
  t.deepEqual(waiting.ends, ['ENOENT'])
  await promises(log).close()
})

tape('an exception in write is thrown to the caller of resume, and the stream continues with the next record', async (t) => {
  const log = await logOf(10)
  const given = []
  const source = push(log).stream({ seqs: false })
  const sink = {
    paused: false,
    write (item) {
      given.push(String(item))
      if (given.length === 4) throw new Error('thrown by write')
    },
    end: () => given.push('end')
  }
  t.throws(() => source.pipe(sink), /thrown by write/)
  source.resume()
  t.deepEqual(given, [...(await collect(log, { seqs: false })).map(String), 'end'])
  await promises(log).close()
})

tape('a write that throws when nobody has resumed is an uncaught exception, and the sink gets the next record', async (t) => {
  const file = testFolder(t)('log')
  const first = await logOf(100, { file })
  await promises(first).close()
  const log = FlumeLog(file, { cacheSize: 0 })
  const given = []
  const thrown = await uncaughtDuring(() => event(end => push(log).stream({ seqs: false }).pipe({
    paused: false,
    write (item) {
      given.push(String(item))
      if (given.length % 10 === 4) throw new Error('thrown by write')
    },
    end
  })))
  t.deepEqual(given, (await collect(log, { seqs: false })).map(String))
  t.equal(thrown.length, 10)
  await promises(log).close()
})

tape('throughs work: those of push-stream, and one that maps', async (t) => {
  const log = await logOf(COUNT)
  const expected = (await collect(log, { seqs: false })).map(String)
  const later = new Async((item, cb) => setImmediate(cb, null, String(item)))
  const delayed = event(resolve => {
    push(log).stream({ seqs: false }).pipe(later).pipe(new Collect((err, items) => resolve(err ?? items)))
    later.resume() // it starts paused
  })
  t.deepEqual(await delayed, expected, 'asynchronous, one at a time')
  const mapped = event(resolve => {
    // the other way of writing a pipeline: from its end
    push(log).stream({ seqs: false }).pipe(new Mapper(String).pipe(new Collect((err, items) => resolve(err ?? items))))
  })
  t.deepEqual(await mapped, expected, 'synchronous')
  const pulled = await event(resolve => pull(toPull(push(log).stream({ seqs: false })), pull.collect((err, items) => resolve(err ?? items))))
  t.deepEqual(pulled.map(String), expected, 'and back to a pull-stream')
  t.equal(log.stats().streams, 0)
  await promises(log).close()
})

tape('a hundred thousand records are pushed with a flat stack', async (t) => {
  const log = FlumeLog(new RAM())
  await promises(log).append(Array.from({ length: 100000 }, () => Buffer.from('x')))
  let count = 0
  const source = push(log).stream()
  await event(end => source.pipe({
    paused: false,
    write () {
      count++
      this.paused = true
      this.paused = false
      source.resume()
    },
    end
  }))
  t.equal(count, 100000)
  await promises(log).close()
})

tape('all other members of a wrapped log are unchanged', async (t) => {
  const log = FlumeLog(new RAM(), { blockSize: BLOCK_SIZE })
  const wrapped = push(log)
  const { append, get, close, onReady } = promises(wrapped)
  await onReady()
  t.equal(wrapped.flumelog, log)
  t.equal(wrapped.since, log.since)
  const seq = await append(Buffer.from('one'))
  t.equal(String(await get(seq)), 'one')
  t.equal(wrapped.blockSize, BLOCK_SIZE)
  t.equal(wrapped.since.value, seq)
  wrapped.highWaterMark = 1000
  t.equal(log.highWaterMark, 1000, 'what is set on it is set on the log')
  t.deepEqual(await collect(log), [{ seq, value: Buffer.from('one') }], 'and the log itself has pull-streams')
  await close()
})

/** A log with a number of records, in a file or in memory. */
async function logOf (count, { file = new RAM(), ...options } = {}) {
  const log = FlumeLog(file, { blockSize: BLOCK_SIZE, ...options })
  const records = Array.from({ length: count }, (_, i) => Buffer.from(`record ${'x'.repeat(i % 30)}${i}`))
  if (count > 0) await promises(log).append(records)
  else await promises(log).onReady()
  return log
}

function collected (source) {
  return new Promise((resolve, reject) => {
    source.pipe(new Collect((err, items) => err ? reject(err) : resolve(items)))
  })
}

/** What a plain sink receives, written as in the READMEs of other logs. */
function written (source) {
  const items = []
  return event(resolve => source.pipe({ paused: false, write: item => items.push(item), end: () => resolve(items) }))
}

/**
 * Pauses in its writes in a repeating pattern.
 * @param {Array<'none' | 'within' | 'tick' | 'immediate'>} pauses when it resumes
 */
function pausing (source, pauses, startsPaused) {
  const given = { items: [], wrongly: 0 }
  const ended = event(resolve => {
    const sink = {
      paused: startsPaused,
      write (item) {
        if (sink.paused) given.wrongly++
        given.items.push(item)
        const pause = pauses[given.items.length % pauses.length]
        if (pause === 'none') return
        sink.paused = true
        const resume = () => {
          sink.paused = false
          source.resume()
        }
        if (pause === 'within') resume()
        else if (pause === 'tick') process.nextTick(resume)
        else setImmediate(resume)
      },
      end: resolve
    }
    source.pipe(sink)
    if (startsPaused) {
      setImmediate(() => {
        sink.paused = false
        source.resume()
      })
    }
  })
  return { given, ended }
}

/** A through, as the README of push-stream describes them. */
class Mapper {
  constructor (map) {
    this.map = map
    this.paused = true
    this.ended = false
    this.source = this.sink = null
  }

  write (item) {
    this.sink.write(this.map(item))
    this.paused = this.sink.paused
  }

  end (err) {
    this.ended = true
    this.sink.end(err)
  }

  resume () {
    this.paused = this.sink.paused
    if (!this.paused && this.source) this.source.resume()
  }

  abort (err) {
    this.source.abort(err)
  }
}

Mapper.prototype.pipe = require('push-stream/pipe')
