'use strict'

// A cursor against a simple model: whatever is called, with many calls in flight, each commit is answered as if it had been
// stored before the next one, in order, and once.

const tape = require('tape')
const fc = require('fast-check')
const { open } = require('../../promises')
const { testFolder } = require('../helpers/folder')
const { event } = require('../helpers/reading')
const { thorough } = require('../helpers/thorough')

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const RUNS = Number(process.env.RUNS ?? (thorough ? 100 : 40))

/** Records are known by their index; -1 is before the first one. A wrong one is an offset at which no record starts. */
const steps = fc.array(fc.oneof(
  { weight: 6, arbitrary: fc.record({ what: fc.constant('commit'), index: fc.integer({ min: -1, max: 30 }), rewind: fc.boolean(), isWrong: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('append'), count: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('stream') }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('wait') }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constantFrom('close the cursor', 'close the log') }) }
), { maxLength: 40 })

tape('commits are answered in order, and as if each was stored before the next one', async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  const folder = testFolder(t)
  let logs = 0
  await fc.assert(fc.asyncProperty(fc.constantFrom('always', 'interval', 'never'), fc.constantFrom(64, 4096), steps, async (sync, blockSize, steps) => {
    const file = folder(`log-${logs++}`)
    const options = { sync, blockSize, blocking: sync !== 'never' }
    let log = await open(file, options)
    let cursor = log.flumelog.cursor('cursor')
    const seqs = []
    let at = -1
    const pending = []
    const expected = []
    const answered = []
    for (const { what, index, rewind, isWrong, count } of steps) {
      if (what === 'append') {
        for (let i = 0; i < count; i++) seqs.push(await log.append(`record ${seqs.length}`))
      } else if (what === 'commit') {
        const n = Math.min(index, seqs.length - 1)
        const seq = (seqs[n] ?? -1) + (isWrong && n >= 0 ? 1 : 0)
        const code = n < at && !rewind ? 'flumelog:invalid' : isWrong && n >= 0 ? 'flumelog:not-found' : null
        if (code === null) at = n
        const number = expected.push(code)
        pending.push(event(resolve => cursor.commit(seq, { rewind }, (err) => resolve(answered.push([number, err === null ? null : err.code])))))
      } else if (what === 'stream') {
        const given = event(resolve => {
          const found = []
          const source = cursor.stream({ values: false })
          source(null, function next (end, seq) {
            if (end) return resolve([end, found])
            found.push(seq)
            source(null, next)
          })
        })
        const next = seqs.slice(at + 1)
        const [end, found] = await given
        if (end !== true || String(found) !== String(next)) throw new Error(`a stream gave ${found}, and not ${next} (${end})`)
      } else if (what === 'wait') await Promise.all(pending.splice(0))
      else if (what === 'close the cursor') {
        cursor.close()
        cursor = log.flumelog.cursor('cursor')
      } else {
        await log.close()
        log = await open(file, options)
        cursor = log.flumelog.cursor('cursor')
      }
    }
    await Promise.all(pending)
    const found = await event(resolve => cursor.onReady((err, seq) => resolve(err ?? seq)))
    await log.close()
    if (found !== (seqs[at] ?? -1)) throw new Error(`the cursor is at ${found}, and not at ${seqs[at]}`)
    if (String(answered) !== String(expected.map((code, i) => [i + 1, code]))) throw new Error(`answers: ${answered}; expected: ${expected}`)
  }), { seed: SEED, numRuns: RUNS })
  t.pass(`${logs} logs`)
})
