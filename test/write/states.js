'use strict'

// What the writer decides, for every state that it can be in.

const test = require('tape')
const { TRANSITIONS, nextStep } = require('../../lib/write/states')

const FLAGS = ['hasFailed', 'isHeld', 'isPartial', 'mustTruncate', 'hasOperations', 'hasUnacknowledged', 'hasUnwritten', 'isClosing']
const STEPS = ['fail', 'truncate', 'operate', 'write', 'settle', 'close', 'rest']
const COMBINATIONS = Array.from({ length: 2 ** FLAGS.length }, (_, bits) => Object.fromEntries(FLAGS.map((flag, i) => [flag, (bits >> i & 1) === 1])))
// what is not written is not acknowledged; of a partial group, the rest is not written; a truncation undoes the part
const isPossible = (work) => (work.hasUnacknowledged || !work.hasUnwritten) && (work.hasUnwritten || !work.isPartial) && !(work.isPartial && work.mustTruncate)
const ALL = STEPS.flatMap(lastStep => COMBINATIONS.filter(isPossible).map(work => ({ ...work, lastStep })))

/** Names the first combination for which a rule does not hold. */
function holds (t, rule, isRight) {
  const wrong = ALL.find(work => !isRight(work, nextStep(work)))
  t.equal(wrong && `${nextStep(wrong)}: ${JSON.stringify(wrong)}`, undefined, rule)
}

test('in every state, a writer does what is possible and needed', (t) => {
  t.comment(`${ALL.length} combinations`)
  holds(t, 'after a failure the file is left alone', (work, step) => work.hasFailed === (step === 'fail'))
  holds(t, 'nothing is written behind what a failed write has left', (work, step) => !(work.mustTruncate && step === 'write'))
  holds(t, 'the file is truncated only for a write that follows', (work, step) => step !== 'truncate' || (work.mustTruncate && work.hasUnwritten))
  holds(t, 'while a group is written in part, no operation gets the file', (work, step) => !work.isPartial || step !== 'operate')
  holds(t, 'while a compaction has to catch up, the file is left alone, and the log does not close', (work, step) => !work.isHeld || ['rest', 'fail'].includes(step))
  holds(t, 'an operation runs only if there is one', (work, step) => step !== 'operate' || work.hasOperations)
  holds(t, 'a write has something to write', (work, step) => step !== 'write' || work.hasUnwritten)
  holds(t, 'appends are settled without a write only if all is written', (work, step) => step !== 'settle' || (work.hasUnacknowledged && !work.hasUnwritten))
  const isBusy = (work) => work.hasFailed || (!work.isHeld && ((work.hasOperations && !work.isPartial) || work.hasUnacknowledged))
  holds(t, 'a writer rests, or closes, if and only if nothing is left that may be done', (work, step) => ['rest', 'close'].includes(step) === !isBusy(work))
  holds(t, 'it closes only if it is to be closed, and does not rest then, unless it is held', (work, step) => !(step === 'close' && !work.isClosing) && !(step === 'rest' && work.isClosing && !work.isHeld))
  t.end()
})

/** The most steps that one caller may have to wait for: a group that takes several writes, and one step of each other kind. */
const MAX_WAIT = 6
const WRITES_PER_GROUP = 3

/**
 * A writer of which the operations do nothing. The callers named in `persistent` ask again as soon as they are served.
 * @returns {string[]} what it has done
 */
function run (start, persistent, steps) {
  const work = { ...start }
  const done = []
  let left = work.isPartial ? WRITES_PER_GROUP - 1 : WRITES_PER_GROUP
  while (done.length < steps) {
    for (const caller of persistent) {
      if (caller === 'append') work.hasUnacknowledged = work.hasUnwritten = true
      else if (caller === 'empty batch') work.hasUnacknowledged = true
      else work[caller] = true
    }
    const step = work.lastStep = nextStep(work)
    done.push(step)
    if (step === 'truncate') work.mustTruncate = false
    else if (step === 'operate') work.hasOperations = false
    else if (step === 'settle') work.hasUnacknowledged = false
    else if (step === 'rest' && work.isHeld) work.isHeld = false
    else if (step === 'write') {
      left = left === 1 ? WRITES_PER_GROUP : left - 1
      work.isPartial = left < WRITES_PER_GROUP
      if (!work.isPartial) work.hasUnacknowledged = work.hasUnwritten = false
    } else return done
  }
  return done
}

const SERVED_BY = { hasOperations: ['operate'], append: ['write'], 'empty batch': ['settle', 'write'] }

test('every caller is served, whoever else keeps asking', (t) => {
  const callers = Object.keys(SERVED_BY)
  let runs = 0
  for (const start of ALL.filter(({ hasFailed, isHeld }) => !hasFailed && !isHeld)) {
    for (let bits = 1; bits < 2 ** callers.length; bits++) {
      const persistent = callers.filter((_, i) => bits >> i & 1)
      const done = run(start, persistent, 4 * MAX_WAIT)
      runs++
      for (const caller of persistent) {
        let waited = 0
        for (const step of done) {
          waited = SERVED_BY[caller].includes(step) ? 0 : waited + 1
          if (waited > MAX_WAIT) {
            t.fail(`${caller} waits: ${done} with ${persistent}, ${JSON.stringify(start)}`)
            return t.end()
          }
        }
      }
    }
  }
  t.pass(`${runs} runs`)
  t.end()
})

test('a writer that nobody asks for more comes to rest, or closes', (t) => {
  for (const start of ALL) {
    const done = run(start, [], 4 * MAX_WAIT)
    const last = start.hasFailed ? 'fail' : start.isClosing ? 'close' : 'rest'
    const isServed = start.hasFailed || done.filter(step => step === 'operate').length === Number(start.hasOperations)
    if (done.at(-1) !== last || !isServed) {
      t.fail(`${done}: ${JSON.stringify(start)}`)
      break
    }
  }
  t.pass(`${ALL.length} runs`)
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
