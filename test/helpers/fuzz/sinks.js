'use strict'

// Sinks of a fuzzed log, and the sources that feed them: at once or with pauses, to an
// end or to an error.

/** @param {import('./session').Session} session */
function drawSink (session) {
  const { log, model, random, calls, world } = session
  const sync = random() < 0.4
  const pause = random.pick([0, 0.1, 1])
  const size = Math.min(world.mostBytes, random.pick([20, 100, 1000]))
  const end = random() < 0.2 ? Object.assign(new Error('made by the source'), { code: 'SOURCE' }) : true
  const batch = { isAtomic: false, hasCallback: false, mayBeRefused: true }
  const records = []
  let left = random.below(40)
  let ended = null

  const source = (abort, cb) => {
    if (abort) {
      ended = abort
      return cb(abort)
    }
    if (random() < pause) world.later(() => calls.isOver || answer(cb))
    else answer(cb)
  }

  function answer (cb) {
    if (ended) return cb(ended)
    if (left-- <= 0) {
      ended = end
      return cb(end)
    }
    const record = model.make(size, { ...batch, madeAt: ++calls.moment })
    records.push(record)
    model.add(record)
    cb(null, record.value)
  }

  session.call(`sink${sync ? ' sync' : ''} of ${left}`, cb => log.sink({ sync }, cb)(source), (call, err, stored) => {
    const moment = session.moment
    const kept = records.slice(0, stored.records)
    for (const record of kept) {
      record.acknowledgedAt = Math.min(record.acknowledgedAt, moment)
      if (record.isFailed) session.violate(`record ${record.number} was stored by a sink, and failed`)
    }
    if (kept.length > 0) model.learnSeq(kept.at(-1), stored.seq)
    model.fail(records.slice(stored.records))
    // its sync may be told of an append without a callback
    if (sync && err) model.told(call.madeAt, moment, err)
    if (err) return session.checkError(call, err, { codes: ['SOURCE', 'flumelog:closed', ...sync && session.hasRejected ? ['flumelog:overflow'] : []] })
    if (stored.records !== records.length) session.violate(`${call.name} stored ${stored.records} of ${records.length} records`)
    if (sync) session.checkDurable({ name: call.name, madeAt: records.at(-1)?.batch.madeAt ?? 0 })
  })
}

module.exports = { drawSink }
