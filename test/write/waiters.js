'use strict'

// Everybody who waits for an offset, against a model: a list of calls, each with the
// offset it waits for, which is searched from the start at every step.

const test = require('tape')
const fc = require('fast-check')
const { Waiters } = require('../../lib/write/waiters')
const { part } = require('../helpers/part')
const { thorough } = require('../helpers/thorough')

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const RUNS = Number(process.env.RUNS ?? (thorough ? 2000 : 700))

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('append'), size: fc.nat(20), isSilent: fc.boolean(), throws: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('endGroup') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait'), mustBeSynced: fc.boolean(), isSilent: fc.boolean(), throws: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('room'), most: fc.nat(60) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('write'), part: part() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('sync'), part: part() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rollBack') }) }
)

test(`${RUNS} random lives: each caller is answered once, in order, with what is true of its offset`, (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  let rethrown = 0
  let thrown = 0
  const listeners = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (err) => { if (err.message === 'a caller\'s own') rethrown++; else throw err })
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => { thrown += live(steps) }), { numRuns: RUNS, seed: SEED })
  // one comes out per turn of the event loop
  let turns = thrown + 10
  setImmediate(function turn () {
    if (turns-- > 0) return setImmediate(turn)
    t.equal(rethrown, thrown, `${thrown} exceptions of callers came out, each once`)
    process.removeAllListeners('uncaughtException')
    for (const listener of listeners) process.on('uncaughtException', listener)
    t.end()
  })
})

/** @returns {number} callbacks that threw */
function live (steps) {
  const waiters = new Waiters()
  /** Calls that are not answered, in order. */
  let calls = []
  let appended = 0
  let acknowledged = 0
  let synced = 0
  let inFlight = 0
  let failures = 0
  let throwing = 0
  /** The error of a silent append that nobody was told. */
  let untold = null
  /** Calls that are acknowledged together. */
  let group = { end: 0 }
  const answers = []
  const expected = []

  const callback = (name, isSilent, throws) => isSilent
    ? undefined
    : (err) => {
        answers.push(`${name} ${err?.message ?? 'done'}`)
        if (throws) {
          throwing++
          throw new Error('a caller\'s own')
        }
      }
  const expect = (call, error) => { if (!call.isSilent) expected.push(`${call.name} ${error ?? 'done'}`) }

  /** The model's answers to `onDrain`, `sync` and those who wait for room. */
  const settle = () => {
    waiters.settle({ acknowledged, synced, inFlight })
    for (const isRoom of [false, true]) {
      calls = calls.filter((call) => {
        if ((call.kind === 'room') !== isRoom || call.kind === 'append') return true
        const isOver = isRoom ? inFlight <= call.most : call.end <= acknowledged && (!call.mustBeSynced || call.end <= synced)
        if (isOver) expect(call, call.error)
        return !isOver
      })
    }
  }

  steps.forEach((step, i) => {
    const name = `${step.do} ${i}`
    if (step.do === 'append') {
      appended += step.size
      inFlight += step.size
      waiters.newest.push(callback(name, step.isSilent, step.throws), appended - step.size, appended, 1, step.size)
      group.end = appended
      calls.push({ kind: 'append', name, group, size: step.size, isSilent: step.isSilent })
    } else if (step.do === 'endGroup') {
      waiters.endGroup()
      group = { end: 0 }
    } else if (step.do === 'wait') {
      waiters.wait(appended, step.mustBeSynced, callback(name, step.isSilent, step.throws))
      calls.push({ kind: 'wait', name, end: appended, mustBeSynced: step.mustBeSynced, isSilent: step.isSilent, error: step.isSilent ? null : untold })
      if (!step.isSilent) untold = null
    } else if (step.do === 'room') {
      waiters.waitForRoom(step.most, callback(name, false, false))
      calls.push({ kind: 'room', name, most: step.most })
    } else if (step.do === 'write') {
      waiters.endGroup()
      group = { end: 0 }
      // a write ends where a group does
      const ends = waiters.groups.map(group => group.end)
      const written = ends[Math.floor(step.part * ends.length)] ?? acknowledged
      waiters.acknowledge(written)
      acknowledged = Math.max(acknowledged, written)
      calls = calls.filter((call) => {
        if (call.kind !== 'append' || call.group.end > acknowledged) return true
        inFlight -= call.size
        expect(call, null)
        return false
      })
      settle()
    } else if (step.do === 'sync') {
      synced = Math.max(synced, Math.floor(step.part * acknowledged))
      const wanted = Math.max(0, ...calls.filter(call => call.mustBeSynced && call.end <= acknowledged).map(call => call.end))
      if (waiters.syncWanted(acknowledged) !== wanted) throw new Error('another sync is wanted')
      settle()
    } else {
      const error = new Error(`failure ${++failures}`)
      waiters.rollBack(acknowledged, error)
      const failed = calls.filter(call => call.kind === 'append')
      const isSilent = failed.some(call => call.isSilent)
      const told = calls.filter(call => call.kind === 'wait' && call.end > acknowledged && !call.isSilent)
      if (isSilent) for (const call of told) call.error ??= error.message
      if (isSilent && told.length === 0) untold ??= error.message
      for (const call of failed) expect(call, error.message)
      for (const call of calls) if (call.kind === 'wait') call.end = Math.min(call.end, acknowledged)
      calls = calls.filter(call => call.kind !== 'append')
      appended = acknowledged
      inFlight = 0
      group = { end: 0 }
      settle()
    }
    waiters.answer()
    if (JSON.stringify(answers) !== JSON.stringify(expected)) throw new Error(`answered ${answers.slice(-5)}, expected ${expected.slice(-5)}`)
  })

  const end = new Error('the end')
  waiters.fail(acknowledged, end)
  waiters.answer()
  if (answers.length !== expected.length + calls.filter(call => !call.isSilent).length) throw new Error('somebody was not answered')
  return throwing
}
