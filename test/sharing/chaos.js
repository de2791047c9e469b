'use strict'

// Real processes and real kills, as a check on the simulator (test/simulator/simulator.js), which explores far more with simulated ones:
// four processes append to a shared log, a reader follows it, and owners are killed or stopped at random.
// `node test/sharing/chaos.js --takeovers 500 --seed N` runs for longer.

const tape = require('tape')
const { parseArgs } = require('util')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { randomFrom } = require('../helpers/random')
const { event } = require('../helpers/reading')
const { following, inTime, numbersIn, sharer } = require('../helpers/sharing')
const { thorough } = require('../helpers/thorough')

const { values } = parseArgs({ options: { takeovers: { type: 'string', default: thorough ? '30' : '3' }, seed: { type: 'string', default: String(Date.now() % 2 ** 31) } } })
const TAKEOVERS = Number(values.takeovers)
const SEED = Number(values.seed)
const MEMBERS = 4
/** Numbers that one process may give to its records. */
const SHARE = 1_000_000
const LAST = 4_000_000_000

tape(`${TAKEOVERS} takeovers lose nothing that was acknowledged, and store nothing twice`, async (t) => {
  t.comment(`--seed ${SEED} repeats it, as far as the moments can be repeated`)
  const file = testFolder(t)('log')
  const random = randomFrom(SEED)
  const pause = (/** @type {number} */ most) => event(resolve => setTimeout(resolve, random() * most))
  /** @type {Array<{ program: any, share: number, work: Promise<void> }>} */
  const members = []
  /** Numbers of records, and what their appends were answered. @type {Map<number, number>} */
  const acknowledged = new Map()
  const errors = new Set()
  let isOver = false
  let spawned = 0

  async function append (program, share, random) {
    for (let from = share * SHARE, count; ; from += count) {
      if (isOver) return
      count = 1 + random.below(20)
      const { results } = await program.call('append', { from, count })
      for (const { number, seq, code } of results) {
        if (code === undefined) acknowledged.set(number, seq)
        else errors.add(code)
      }
    }
  }

  async function spawn () {
    const share = ++spawned
    const program = sharer(t, file, { blockSize: 1024, sync: 'interval', timeout: 2000 })
    await program.opened()
    members.push({ program, share, work: append(program, share, randomFrom(SEED + share)) })
  }

  for (let i = 0; i < MEMBERS; i++) await spawn()
  const reader = FlumeLog(file, { readOnly: true })
  const followed = following(reader)
  for (let takeovers = 0; takeovers < TAKEOVERS;) {
    const owner = await Promise.any(members.map(member => member.program.hasRole('owner').then(() => member)))
    await pause(50)
    const victim = random() < 0.8 ? owner : random.pick(members)
    const isStopped = random() < 0.4
    if (isStopped) {
      victim.program.signal('SIGSTOP')
      await pause(200)
    }
    if (isStopped && random() < 0.5) {
      victim.program.signal('SIGCONT')
      continue
    }
    // its last call has no answer
    const ended = victim.work.catch(() => {})
    await victim.program.kill()
    await ended
    members.splice(members.indexOf(victim), 1)
    if (victim === owner) takeovers++
    await spawn()
  }
  isOver = true
  for (const { work } of members) await inTime(work, 'an append')
  await members[0].program.call('append', { from: LAST })
  await followed.until(LAST)
  for (const { program } of members) await program.call('close')
  await event(resolve => reader.close(resolve))

  const numbers = await numbersIn(file)
  const indexes = new Map(numbers.map((number, i) => [number, i]))
  t.equal(indexes.size, numbers.length, `no record is there twice; ${numbers.length} are there`)
  t.deepEqual([...acknowledged.keys()].filter(number => !indexes.has(number)), [], `${acknowledged.size} were acknowledged, and are there`)
  /** The last number of each process. @type {Map<number, number>} */
  const last = new Map()
  const disordered = numbers.filter((number) => {
    const share = Math.floor(number / SHARE)
    const before = last.get(share) ?? -1
    last.set(share, number)
    return number < before
  })
  t.deepEqual(disordered, [], 'in the order in which each process has appended them')
  t.deepEqual(followed.seen, numbers, 'the reader has seen each once')
  t.deepEqual([...errors].filter(code => code !== 'flumelog:unreachable'), [], 'no append got an error, unless its owner did not answer in time')
})
