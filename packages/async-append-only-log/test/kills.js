'use strict'

// Kills a process (SIGKILL) that compacts through this interface, at any moment: nothing is lost, and the next opening finishes it.
// `RUNS=300 node test/async-append-only-log/kills.js` kills three hundred processes.

const path = require('path')
const tape = require('tape')
const { openLog } = require('./helpers/open')
const { testFolder } = require('../../../test/helpers/folder')
const { start } = require('../../../test/helpers/processes')
const { randomFrom } = require('../../../test/helpers/random')
const { thorough } = require('../../../test/helpers/thorough')

const KILLS = Number(process.env.RUNS ?? (thorough ? 30 : 8))
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const BLOCK_SIZE = 4096
const COUNT = 3000
const JUNK = 300

tape('a kill during a compaction loses no record, and every offset leads to the record that it says', async (t) => {
  t.comment(`SEED=${SEED} repeats it, as far as the moments of the kills can be repeated`)
  const file = testFolder(t)('log')
  const random = randomFrom(SEED)
  const first = openLog(file, { blockSize: BLOCK_SIZE })
  const offsets = await first.append(Array.from({ length: COUNT }, (_, i) => data(i))).then(() => first.onDrain()).then(() => first.collect({ values: false }))
  for (let i = 0; i < COUNT; i += 3) await first.del(offsets[i])
  await first.close()
  const expected = Array.from({ length: COUNT }, (_, i) => i).filter(i => i % 3 !== 0)
  let compactions = 0
  for (let n = 0; n < KILLS; n++) {
    const program = start(t, path.join(__dirname, 'helpers/programs/compact-until-killed.js'), { file, blockSize: BLOCK_SIZE, junk: JUNK })
    const enough = random.pick([1, 1, 2])
    let seen = 0
    await program.message(({ what }) => what === 'compacting' && ++seen === enough)
    await new Promise(resolve => setTimeout(resolve, random.below(25)))
    const { signal } = await program.kill()
    if (signal !== 'SIGKILL') throw new Error(`the process ended by itself:\n${program.stderr}`)
    compactions += program.messages.filter(({ what }) => what === 'compacted').length
    const log = openLog(file, { blockSize: BLOCK_SIZE })
    await log.onDrain()
    const found = await log.collect()
    const kept = found.filter(({ value }) => value !== null && value[0] !== 255)
    if (kept.map(({ value }) => value.readUInt32LE(1)).join() !== expected.join()) t.fail(`after kill ${n}, ${kept.length} records of ${expected.length}`)
    for (const { offset, value } of random.below(2) === 0 ? kept.slice(0, 50) : kept.slice(-50)) if (!value.equals(await log.get(offset))) t.fail(`offset ${offset}`)
    if (!log.log.compactionProgress.value.done) t.fail('it is not finished')
    await log.close()
  }
  t.pass(`${KILLS} kills, ${compactions} compactions that ended`)
})

/** @param {number} i */
function data (i) {
  const bytes = Buffer.alloc(20 + i % 50, 1)
  bytes.writeUInt32LE(i, 1)
  return bytes
}
