'use strict'

// Random appends, deletions, purges and pulls, after some of which the end of FILE.pull is lost, as by a crash: after each pull, the copy equals
// the stream. TEST_THOROUGH=1: 100 runs.

const fs = require('fs')
const test = require('tape')
const { testFolder } = require('../../../test/helpers/folder')
const { CopyIndex } = require('../lib/pull/copy-index')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { withServer, streamName } = require('./helpers/nats')
const { pullOnce, recordsIn, recordsOn, request } = require('./helpers/pulling')
const { randomFrom } = require('../../../test/helpers/random')
const { isSame } = require('../../../test/helpers/reading')
const { thorough } = require('../../../test/helpers/thorough')

const RUNS = thorough ? 40 : 3
const STEPS = 12

withServer('random pulls', (shared) => {
  const first = Number(process.env.SEED ?? Date.now() % 1_000_000)
  for (let seed = first; seed < first + RUNS; seed++) {
    test(`a copy equals its stream after each pull: SEED=${seed}`, async (t) => {
      const random = randomFrom(seed)
      const { server } = shared
      const file = testFolder(t)('copy')
      const stream = streamName()
      const log = openLog(server, { stream })
      await log.onReady()
      const done = []
      let [last, written] = [0, 0]
      t.teardown(atReopening((lines) => { written = lines }))
      const append = async (count, size) => { last = await log.append(Array.from({ length: count }, () => Buffer.from(`${random.below(4)}`.repeat(1 + random.below(size))))) }
      const steps = {
        append: () => append(1 + random.below(random.pick([3, 50, 2000])), random.pick([4, 40, 2000])),
        appendOne: () => append(1, 4),
        delete: () => last > 0 && log.del(Array.from({ length: 1 + random.below(5) }, () => 1 + random.below(last))),
        deleteRange: () => {
          const start = random.below(last + 1)
          return log.del({ gte: start, lte: Math.min(last, start + random.below(1000)) })
        },
        purge: async () => {
          // a purge of the rest after the last messages were deleted brings messages back (nats-server 2.15.2)
          await append(1, 4)
          await request(server, `STREAM.PURGE.${stream}`, { seq: 1 + random.below(last) })
        },
        crash: () => {
          if (!fs.existsSync(`${file}.pull`)) return
          const lines = fs.readFileSync(`${file}.pull`, 'latin1').split('\n').slice(0, -1)
          const durable = durableLines(lines, written)
          fs.writeFileSync(`${file}.pull`, lines.slice(0, durable + random.below(lines.length - durable + 1)).map(line => line + '\n').join(''), 'latin1')
        },
        pull: async () => {
          await pullOnce(server, stream, file)
          const [expected, found] = [await recordsOn(server, stream), await recordsIn(file)]
          if (!isSame(expected, found)) throw new Error(`${expected.length} records in the stream, ${found.length} in the copy`)
        }
      }
      try {
        for (let i = 0; i < STEPS; i++) {
          done.push(random.pick(Object.keys(steps)))
          await steps[done[i]]()
        }
        await steps.pull()
        t.pass(done.join(' '))
      } catch (err) {
        t.fail(`${done.join(' ')}: ${err.stack}`)
      }
      await log.close()
    })
  }

  test.onFinish(closeLogs)
})

/**
 * @param {(lines: number) => void} listener told of FILE.pull when a pull begins
 * @returns {() => void} removes it
 */
function atReopening (listener) {
  const { reopen } = CopyIndex.prototype
  CopyIndex.prototype.reopen = async function () {
    await reopen.call(this)
    listener(this.lines)
  }
  return () => { CopyIndex.prototype.reopen = reopen }
}

/**
 * @param {string[]} lines of FILE.pull
 * @param {number} written of them when the last pull began: durable before it appended records
 * @returns {number} how many no crash of it can take: those of windows are durable before records in them are deleted
 */
function durableLines (lines, written) {
  const windows = new Set()
  let [durable, last] = [written, written]
  lines.forEach((line, i) => {
    const { from, seq, start } = JSON.parse(line.slice(line.indexOf(' ')))
    const window = `${from} ${seq}`
    if (i < written) windows.add(window)
    else if (start !== undefined || windows.has(window)) durable = last
    else if (seq !== undefined) {
      windows.add(window)
      last = i + 1
    }
  })
  return durable
}
