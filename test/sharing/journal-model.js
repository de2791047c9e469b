'use strict'

// The journal against a model: whatever its owner did, and whenever it died, the next one
// finds exactly the records that are in the log.

const test = require('tape')
const fc = require('fast-check')
const { Owner } = require('../helpers/owner')
const { testFolder } = require('../helpers/folder')
const { thorough } = require('../helpers/thorough')

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const RUNS = Number(process.env.RUNS ?? (thorough ? 1000 : 300))

const frames = fc.array(fc.record({
  who: fc.nat(3),
  skipped: fc.nat(1),
  sizes: fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5, size: 'max' })
}), { maxLength: 4, size: 'max' })

const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('add') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forget'), who: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('answer'), who: fc.nat(3) }) },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('write'),
      frames,
      later: frames,
      how: fc.record({
        fails: fc.constantFrom('nothing', 'nothing', 'nothing', 'log', 'journal'),
        room: fc.nat(256),
        leaves: fc.boolean(),
        keepsOld: fc.boolean()
      })
    })
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('die'),
      frames,
      when: fc.constantFrom('before', 'journal', 'log'),
      share: fc.integer({ min: 0, max: 99 }),
      keepsOld: fc.boolean(),
      startFails: fc.boolean()
    })
  }
)

test('the next owner finds exactly the records that are in the log', async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  const folder = testFolder(t)
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), fc.boolean(), async (steps, listsQueued) => {
    const owner = new Owner(folder('log.clients'), listsQueued)
    try {
      for (const step of steps) await take(owner, step)
      await take(owner, { do: 'die', frames: [], when: 'log', share: 0 })
    } finally {
      owner.journal.close()
    }
    if (owner.mismatches.length > 0) throw new Error(owner.mismatches.join('\n'))
  }), { numRuns: RUNS, seed: SEED })
  t.pass(`${RUNS} random lives`)
})

async function take (owner, step) {
  if (step.do === 'add') owner.addClient()
  else if (step.do === 'forget') owner.forget(step.who)
  else if (step.do === 'answer') owner.answer(step.who)
  else owner.pack(step.frames)
  if (step.do === 'write') owner.write(step.how, step.later)
  if (step.do === 'die') {
    owner.die(step.when, step.share, step.keepsOld)
    await owner.succeed(step.startFails)
  }
}
