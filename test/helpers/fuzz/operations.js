'use strict'

// What a fuzzed log is asked to do, and what its answers are checked for.

const { Reader } = require('./readers')
const { drawSink } = require('./sinks')

/** @typedef {import('./session').Session} Session */

/** Each operation and how often it is drawn. @type {Array<[number, (session: Session) => void]>} */
const OPERATIONS = [
  [30, appendOne], [12, appendBatch], [4, appendAtomic], [2, appendEmpty], [3, appendInvalid], [0.15, appendHuge],
  [6, del], [1, delRange], [1, delInvalid], [0.5, trim], [4, sync], [4, onDrain], [2, onReady],
  [6, get], [3, getPrevious], [5, stream], [2, liveStream], [3, scan], [3, search],
  [2, sink], [3, stats], [2, changeLimits], [1, world]
]
/** Those that a callback may call. */
const NESTED = [[4, appendOne], [1, appendBatch], [1, appendAtomic], [1, appendEmpty], [2, del], [0.2, trim], [2, sync], [2, onDrain], [2, get], [1, stream], [1, stats], [0.3, close]]

/** @param {Session} session */
function operate (session) {
  draw(session, OPERATIONS)(session)
}

/** @param {Session} session */
function operateNested (session) {
  draw(session, NESTED)(session)
}

function draw ({ random }, weighted) {
  let left = random() * weighted.reduce((sum, [weight]) => sum + weight, 0)
  for (const [weight, operation] of weighted) {
    left -= weight
    if (left < 0) return operation
  }
  return weighted[0][1]
}

/** @param {Session} session */
function drawSize ({ random, world }) {
  const most = world.mostBytes
  if (world.largestBytes > most && random() < 0.1) return most + random.below(world.largestBytes - most)
  return Math.min(most, random.pick([12, 15, 20, 40, 100, 100, 506, 512, 1000, 4090, 4096, 9000, most]))
}

// Appending

function appendOne (session) {
  append(session, { sizes: [drawSize(session)], isArray: session.random() < 0.1, sync: session.random() < 0.1 })
}

function appendBatch (session) {
  const { random } = session
  append(session, { sizes: Array.from({ length: 1 + random.below(random.pick([4, 12, 60])) }, () => drawSize(session)), isArray: true, sync: random() < 0.1 })
}

function appendAtomic (session) {
  const { random, world } = session
  const sizes = []
  let room = world.mostBytes
  for (let n = random.below(6) + 1; n > 0; n--) {
    const size = Math.min(room, drawSize(session))
    // an object may need a little more than asked for
    if (size < 40) break
    sizes.push(size)
    room -= size + 4
  }
  append(session, { sizes, isArray: true, atomic: true })
}

function appendEmpty (session) {
  append(session, { sizes: [], isArray: true, sync: session.random() < 0.3, atomic: session.random() < 0.2 })
}

/** More than one write takes. */
function appendHuge (session) {
  const size = session.world.mostBytes
  if (size >= 4000) append(session, { sizes: new Array(Math.ceil(3e6 / size)).fill(size), isArray: true })
}

/**
 * @param {Session} session
 * @param {{ sizes: number[], isArray: boolean, sync?: boolean, atomic?: boolean }} what
 */
function append (session, { sizes, isArray, sync = false, atomic = false }) {
  const { model, log, calls, random } = session
  const hasCallback = random() < 0.85
  const batch = { isAtomic: atomic, hasCallback, madeAt: ++calls.moment, mayBeRefused: log.overflow === 'reject' || !session.isOpen || session.closeCalledAt < Infinity }
  const records = sizes.map(size => model.make(size, batch))
  const values = records.map(({ value }) => value)
  const options = sync || atomic ? [{ sync, atomic }] : []
  const value = isArray ? values : values[0]
  const name = `append ${isArray ? `[${sizes.length}]` : ''} ${records[0]?.number ?? ''} (${sizes.reduce((a, b) => a + b, 0)} bytes)${sync ? ' sync' : ''}${atomic ? ' atomic' : ''}`
  for (const record of records) model.add(record)
  if (!hasCallback) {
    calls.note(`${name} without a callback`)
    return calls.make({ name }, () => log.append(value, ...options))
  }
  session.call(name, cb => log.append(value, ...options, cb), (call, err, result) => {
    if (err) {
      model.fail(records)
      return session.checkError(call, err, { codes: session.hasRejected ? ['flumelog:overflow'] : [] })
    }
    if (atomic && result.length !== records.length) session.violate(`${call.name} was given ${result.length} seqs`)
    const seqs = atomic ? result : session.settings.large ? records.map((_, i) => i === records.length - 1 ? result : undefined) : seqsOf(session, records, result)
    acknowledged(session, call, records, seqs)
    if (sync || (atomic && records.length > 0) || session.settings.sync === 'always') session.checkDurable(call)
  })
}

/**
 * @param {Session} session
 * @param {Array<import('./model').Record>} records of one batch
 * @param {number} last the last one's seq
 * @returns {number[]} where they stand, one after the other
 */
function seqsOf ({ world }, records, last) {
  const seqs = []
  let next = last
  for (let i = records.length - 1; i >= 0; i--) {
    if (i < records.length - 1) {
      const end = next % world.blockSize > 0 ? next : next - world.blockSize + world.paddingStart(next - world.blockSize)
      next = end - records[i].data.length - 4
    }
    seqs.unshift(next)
  }
  return seqs
}

function acknowledged (session, call, records, seqs) {
  const { model, log } = session
  model.acknowledge(records, seqs, session.moment)
  const last = records.at(-1)
  if (last === undefined) return
  if (log.since.value < last.seq) session.violate(`${call.name} was called back at ${last.seq}, and since is ${log.since.value}`)
  session.checkUnsynced(last.seq + (session.isInBlock(last) ? last.data.length + 4 : 0))
}

function appendInvalid (session) {
  const { log, model, random, world } = session
  const wrong = random() < 0.3 && !session.settings.large ? model.values.make(0, world.blockSize + 20) : random.pick(model.values.invalid)
  const value = random() < 0.5 ? wrong : [model.values.make(0, 20), wrong]
  session.call('append of what cannot be stored', cb => log.append(value, cb), (call, err) => {
    if (!err) session.violate(`${call.name} succeeded`)
    else session.checkError(call, err, { codes: ['flumelog:invalid', 'flumelog:too-large'] })
  })
}

/** Once the log is open: before that, a sink appends in the order in which it is opened, not in that of its values. */
function sink (session) {
  if (session.isOpen) drawSink(session)
}

// Deleting

function pickKnown ({ model, random }) {
  for (let n = 0; n < 8; n++) {
    const record = model.records.length > 0 ? random.pick(model.records) : undefined
    if (record?.seq !== undefined && record.acknowledgedAt < Infinity) return record
  }
}

function del (session) {
  const { log, random } = session
  const records = Array.from({ length: random() < 0.6 ? 1 : random.below(random.pick([5, 60])) }, () => pickKnown(session)).filter(record => record !== undefined)
  const seqs = records.map(({ seq }) => seq)
  if (seqs.length === 0) return
  const call = session.call(`del ${seqs.slice(0, 10)}${seqs.length > 10 ? ',…' : ''}`, cb => {
    for (const record of records) record.deletingAt = Math.min(record.deletingAt, session.moment)
    log.del(seqs.length === 1 ? seqs[0] : seqs, cb)
  }, (call, err) => {
    if (err) return session.checkError(call, err, { codes: trimmed(session, seqs) })
    for (const record of records) record.deletedAt = Math.min(record.deletedAt, session.moment)
    if (session.settings.sync === 'always') session.checkErased(call, records)
  })
  return call
}

/** All records from one to another, of which the seqs of all between them are known. */
function delRange (session) {
  const { log, random, model } = session
  const first = pickKnown(session)
  if (first === undefined) return
  const records = []
  const most = 1 + random.below(random.pick([5, 100, 1000]))
  for (let i = model.records.indexOf(first); i < model.records.length && records.length < most; i++) {
    const record = model.records[i]
    if (record.seq === undefined || record.acknowledgedAt === Infinity) break
    records.push(record)
  }
  const last = records[records.length - 1].seq
  const range = { ...random() < 0.5 ? { gte: first.seq } : { gt: first.seq - 1 }, ...random() < 0.5 ? { lte: last } : { lt: last + 1 } }
  session.call(`del ${JSON.stringify(range)}`, cb => {
    for (const record of records) record.deletingAt = Math.min(record.deletingAt, session.moment)
    log.del(range, cb)
  }, (call, err) => {
    if (err) return session.checkError(call, err)
    for (const record of records) record.deletedAt = Math.min(record.deletedAt, session.moment)
    if (session.settings.sync === 'always') session.checkErased(call, records)
  })
}

function delInvalid (session) {
  const { log, random, model, world } = session
  const seq = random.pick([-1, 1.5, 'a', 2 ** 40, 3])
  session.call(`del ${seq}`, cb => log.del(seq, cb), (call, err) => {
    if (err) session.checkError(call, err, { codes: ['flumelog:invalid', 'flumelog:not-found', ...trimmed(session, [seq])] })
    // where all records of a block were deleted, it is not known where they started
    else if (seq !== 3 || model.records.some(record => record.seq < world.blockSize && record.deletingAt === Infinity)) session.violate(`${call.name} succeeded`)
  })
}

// Trimming

function trim (session) {
  const { log, model, random } = session
  const lt = random() < 0.05 ? Infinity : random.below(model.lastSeq + 100)
  // it may take effect while it is pending
  session.call(`trim ${lt}`, cb => {
    model.trimmingTo = Math.max(model.trimmingTo, lt)
    log.trim({ lt }, cb)
  }, (call, err, start) => {
    if (err) return session.checkError(call, err)
    model.trimmedTo = Math.max(model.trimmedTo, start)
    if (start > model.trimmingTo || log.start < start) session.violate(`${call.name} was given ${start}`)
  })
}

/** The code of the error that a call with these seqs may get since they were trimmed. */
function trimmed ({ model }, seqs) {
  return seqs.some(seq => seq < model.trimmingTo) ? ['flumelog:trimmed'] : []
}

// Waiting

function sync (session) {
  session.call('sync', cb => session.log.sync(cb), (call, err) => {
    session.model.told(call.madeAt, session.moment, err)
    if (err) return session.checkError(call, err, { codes: unreported(session) })
    session.checkDurable(call)
    session.checkErased(call, session.model.records.filter(({ deletedAt }) => deletedAt < call.madeAt))
    session.erasedBefore = Math.max(session.erasedBefore, call.madeAt)
    checkAnswered(session, call)
  })
}

function onDrain (session) {
  session.call('onDrain', cb => session.log.onDrain(cb), (call, err) => {
    session.model.told(call.madeAt, session.moment, err)
    if (err) session.checkError(call, err, { codes: unreported(session) })
    else checkAnswered(session, call)
  })
}

/** Errors of appends without a callback, which are told to whoever asks next. */
function unreported (session) {
  const codes = session.hasRejected ? ['flumelog:overflow'] : []
  return session.closeCalledAt < Infinity ? [...codes, 'flumelog:closed'] : codes
}

/** Those appended before have been acknowledged, or got their error. */
function checkAnswered (session, call) {
  if (session.calls.throwing > 0) return
  for (const record of session.model.records) {
    if (record.batch.madeAt > call.madeAt) return
    // one that is refused is called back on its own
    if (record.batch.hasCallback && !record.batch.mayBeRefused && record.acknowledgedAt === Infinity && !record.isFailed) {
      return session.violate(`${call.name} was called back before the append of record ${record.number}`)
    }
  }
}

function onReady (session) {
  session.call('onReady', cb => session.log.onReady(cb), (call, err) => {
    if (err && session.closeCalledAt === Infinity && session.world.faults.read + session.world.faults.change + session.world.faults.sync === 0) session.violate(`${call.name}: ${err.stack}`)
  })
}

function close (session) {
  if (!session.isOpen && session.random() < 0.8) return
  const isFirst = session.closeCalledAt === Infinity
  return session.call('close', cb => {
    session.closeCalledAt = Math.min(session.closeCalledAt, session.moment)
    session.log.close(cb)
  }, (call, err) => {
    session.isClosed = true
    if (!isFirst) return
    session.closeError = err ?? null
    session.model.told(call.madeAt, session.moment, err)
    if (err) session.checkError(call, err, { codes: unreported(session) })
    else if (session.openError === null) session.checkDurable(call)
  })
}

// Reading

function get (session) {
  const { log, random, model } = session
  const record = pickKnown(session)
  const seq = record === undefined || random() < 0.1 ? random.below(model.lastSeq + 100) - 3 : record.seq
  session.call(`get ${seq}`, cb => log.get(seq, cb), (call, err, value) => {
    if (!err) return model.show(seq, value, call.madeAt)
    const isDeleted = err.code === 'flumelog:deleted'
    if (isDeleted && (model.bySeq.get(seq)?.deletingAt ?? 0) === Infinity) session.violate(`${call.name}: deleted, and nobody asked for that`)
    session.checkError(call, err, { isRead: true, codes: ['flumelog:deleted', ...trimmed(session, [seq]), ...(seq === record?.seq ? [] : ['flumelog:invalid', 'flumelog:not-found'])] })
  })
}

function getPrevious (session) {
  const { log, model } = session
  const from = pickKnown(session)
  if (from === undefined) return
  const before = (call) => model.kept.filter(({ seq, acknowledgedAt }) => seq < from.seq && acknowledgedAt < call.madeAt)
  session.call(`getPrevious ${from.seq}`, cb => log.getPrevious(from.seq, cb), (call, err, value, seq) => {
    if (err && err.code !== 'flumelog:not-found') return session.checkError(call, err, { isRead: true, codes: trimmed(session, [from.seq]) })
    if (!err) model.show(seq, value, call.madeAt)
    const missed = before(call).find(record => err || record.seq > seq)
    if (missed !== undefined) session.violate(`${call.name} passed over record ${missed.number} at ${missed.seq}`)
  })
}

function drawRange ({ random, model }) {
  const range = { reverse: random() < 0.4, cache: random() < 0.7, fromStart: random() < 0.5 }
  if (random() < 0.3) range.gte = random.below(model.lastSeq + 20)
  if (random() < 0.3) range.lte = random.below(model.lastSeq + 20)
  return range
}

function drawManner ({ random }) {
  return {
    pause: random.pick([0, 0, 0.1, 1]),
    stopAfter: random() < 0.3 ? 1 + random.below(20) : Infinity,
    isDropped: random() < 0.3
  }
}

function stream (session) {
  const { random } = session
  const options = { ...drawRange(session), limit: random() < 0.2 ? random.below(10) : 0 }
  session.readers.add(new Reader(session, options, drawManner(session)))
}

function liveStream (session) {
  const { random, readers } = session
  if ([...readers].filter(({ isLive }) => isLive).length > 8) return
  const options = { live: true, reverse: random() < 0.2 }
  if (session.isOpen && random() < 0.5) options.old = false
  readers.add(new Reader(session, options, drawManner(session)))
}

function scan (session) {
  const { log, model, random, values = model.values } = session
  const range = { ...drawRange(session), reuse: random() < 0.3 }
  const stopAfter = random() < 0.3 ? 1 + random.below(10) : Infinity
  const { decode = (data) => data } = values.options.codec ?? {}
  const shown = []
  session.call(`scan ${JSON.stringify(range)}`, function make (cb) {
    const startedAt = session.moment
    log.scan(range, (block, start, end, seq) => {
      const record = model.show(seq, decode(Buffer.from(block.subarray(start, end))), startedAt)
      if (record !== null) shown.push(record)
      return shown.length < stopAfter
    }, cb)
  }, (call, err) => {
    if (err) session.checkError(call, err, { isRead: true, codes: trimmed(session, [0]) })
    const isComplete = !err && shown.length < stopAfter
    model.checkGaps(range.reverse ? [...shown].reverse() : shown, { min: range.gte ?? 0, max: range.lte ?? Infinity }, isComplete ? call.madeAt : -1)
  })
}

function search (session) {
  const { log, model, random } = session
  const wanted = random.below(model.made + 3)
  const compare = (value) => model.values.numberOf(value) - wanted
  session.call(`search ${wanted}`, cb => log.search(compare, cb), (call, err, seq, value) => {
    if (err && err.code !== 'flumelog:not-found') return session.checkError(call, err, { isRead: true })
    const found = err ? null : model.show(seq, value, call.madeAt)
    if (found !== null && found.number < wanted) session.violate(`${call.name} gave record ${found.number}`)
    const missed = model.kept.find(({ number, acknowledgedAt }) => number >= wanted && acknowledgedAt < call.madeAt && (err || number < found?.number))
    if (missed !== undefined) session.violate(`${call.name} passed over record ${missed.number}`)
  })
}

// The rest

function stats (session) {
  const { inFlight, unsynced, size } = session.log.stats()
  if (!(inFlight.records >= 0 && inFlight.bytes >= 0 && unsynced >= 0 && size >= 0)) session.violate(`stats: ${JSON.stringify({ inFlight, unsynced, size })}`)
}

function changeLimits (session) {
  const { log, random, calls } = session
  log.highWaterMark = random.pick([1, 100, 2000, 100000, 1 << 24])
  log.overflow = random.pick(['queue', 'queue', 'reject'])
  if (log.overflow === 'reject') session.hasRejected = true
  calls.note(`highWaterMark ${log.highWaterMark}, overflow ${log.overflow}`)
}

/** The disk gets fuller, or has room again; faults come and go. */
function world (session) {
  session.world.change()
}

module.exports = { operate, operateNested, close, append, drawSize }
