'use strict'

// What the writer decides, for every combination of what there is to do.

const test = require('tape')
const { TRANSITIONS, nextStep } = require('../../lib/write/states')

const FLAGS = ['hasFailed', 'mustTruncate', 'hasDeletions', 'hasJustDeleted', 'hasUnwritten', 'hasUnacknowledged', 'isClosing']
const ALL = Array.from({ length: 2 ** FLAGS.length }, (_, bits) => Object.fromEntries(FLAGS.map((flag, i) => [flag, (bits >> i & 1) === 1])))

test('a writer rests only if nothing is left to do, and closes only then', (t) => {
  for (const work of ALL) {
    const step = nextStep(work)
    const isBusy = work.hasFailed || work.hasDeletions || work.hasUnwritten || work.hasUnacknowledged
    if ((step === 'rest' || step === 'close') === isBusy) t.fail(JSON.stringify(work))
    if (!isBusy && (step === 'close') !== work.isClosing) t.fail(JSON.stringify(work))
  }
  t.pass(`${ALL.length} combinations`)
  t.end()
})

test('nothing is written after a failure, and nothing behind what a failed write has left', (t) => {
  for (const work of ALL) {
    const step = nextStep(work)
    if (work.hasFailed && step !== 'fail') t.fail(JSON.stringify(work))
    if (work.mustTruncate && step === 'write') t.fail(JSON.stringify(work))
  }
  t.pass(`${ALL.length} combinations`)
  t.end()
})

test('where there are always deletions and appends, each gets every second turn', (t) => {
  const turns = []
  let hasJustDeleted = false
  for (let i = 0; i < 6; i++) {
    const step = nextStep({ hasFailed: false, mustTruncate: false, hasDeletions: true, hasJustDeleted, hasUnwritten: true, hasUnacknowledged: true, isClosing: true })
    turns.push(step)
    hasJustDeleted = step === 'delete'
  }
  t.deepEqual(turns, ['delete', 'write', 'delete', 'write', 'delete', 'write'])
  t.end()
})

test('while a part is written of what is acknowledged together, nobody else gets the file', (t) => {
  for (const work of ALL) {
    const step = nextStep({ ...work, hasOperations: true, hasTrim: true, isPartial: true })
    if (['operate', 'trim'].includes(step)) t.fail(JSON.stringify(work))
  }
  t.pass(`${ALL.length} combinations`)
  t.end()
})

test('while a compaction has to catch up, nothing is appended, deleted or trimmed, but what has failed ends, and what others do with the file goes on', (t) => {
  for (const work of ALL) {
    const step = nextStep({ ...work, hasTrim: true, isHeld: true })
    if (step !== (work.hasFailed ? 'fail' : 'rest')) t.fail(JSON.stringify(work))
  }
  t.equal(nextStep({ ...ALL[0], hasOperations: true, isHeld: true }), 'operate')
  t.pass(`${ALL.length} combinations`)
  t.end()
})

test('every state leads to closed, and every state that is named exists', (t) => {
  const names = Object.keys(TRANSITIONS)
  for (const name of names) {
    const reached = new Set([name])
    for (const state of reached) for (const next of TRANSITIONS[state]) reached.add(next)
    t.ok(reached.has('closed'), name)
    t.ok([...reached].every(state => names.includes(state)))
  }
  t.end()
})
