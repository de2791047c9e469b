'use strict'

// Kills a process that commits to a cursor, at any moment: the cursor is at a position that it was to commit, and not before
// the last one that was acknowledged. The next process goes on with the same files, and is killed, too.
// `RUNS=300 node test/cursors/kills.js` kills three hundred processes.

const tape = require('tape')
const { open } = require('../../promises')
const { testFolder } = require('../helpers/folder')
const { start } = require('../helpers/processes')
const { randomFrom } = require('../helpers/random')
const { thorough } = require('../helpers/thorough')

const KILLS = Number(process.env.RUNS ?? (thorough ? 9 : 6))
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)

const VARIANTS = {
  'a process that appends and consumes': { appends: true, options: { sync: 'interval', syncInterval: 5 } },
  'a process that consumes what another one appends': { appends: false, options: { readOnly: true, sync: 'never' } },
  'a client of a shared log': { appends: false, options: { shared: true, sync: 'always' } }
}

for (const [name, { appends, options }] of Object.entries(VARIANTS)) {
  tape(`a cursor is at a committed position however often it is killed: ${name}`, async (t) => {
    t.comment(`SEED=${SEED} repeats it, as far as the moments of the kills can be repeated`)
    const file = testFolder(t)('log')
    const random = randomFrom(SEED)
    const writer = appends ? null : await appending(file, options.shared, random)
    /** What the position may be: it was told of, and not acknowledged to be before another one. */
    let known = [-1]
    let acknowledged = 0
    // on a busy machine, all of them may come before the first commit
    for (let n = 0; n < KILLS / 3 || (acknowledged === 0 && n < 5 * KILLS); n++) {
      const messages = await liveAndDie(t, { file, options, appends, seed: SEED + n }, random)
      const opened = messages.find(({ what }) => what === 'opened')
      if (opened !== undefined && !known.includes(opened.seq)) t.fail(`the next process found ${opened.seq}; it may be one of ${known}`)
      if (opened !== undefined) known = [opened.seq]
      for (const { what, seq } of messages) {
        if (what === 'committing') known.push(seq)
        if (what === 'committed') known = known.slice(known.indexOf(seq))
        if (what === 'committed') acknowledged++
      }
    }
    const log = writer?.log ?? await open(file)
    const cursor = log.cursor('consumer')
    const seq = await cursor.ready()
    t.ok(known.includes(seq), `it is at ${seq}`)
    for await (const next of cursor.stream({ limit: 1, values: false })) t.ok(next > seq, 'and its stream goes on there')
    t.ok(acknowledged > 0, `after ${acknowledged} commits that were acknowledged`)
    if (writer !== null) writer.stop()
    await log.close()
  })
}

/** A writer in this process. */
async function appending (file, shared, random) {
  const log = await open(file, { shared })
  const append = () => { log.append('a record of ' + 'x'.repeat(random.below(60))) }
  append()
  const timer = setInterval(append, 1)
  return { log, stop: () => clearInterval(timer) }
}

/** @returns {Promise<any[]>} what a process told before it was killed */
async function liveAndDie (t, argument, random) {
  const process = start(t, 'commit-until-killed.js', argument)
  const enough = random.pick([0, 1, 2, 10, 30])
  let committed = 0
  await process.message(({ what }) => what === 'failed' || (what === 'committed' ? ++committed : committed) >= enough)
  await new Promise(resolve => setTimeout(resolve, random.below(4)))
  const { signal } = await process.kill()
  if (signal !== 'SIGKILL') throw new Error(`the process ended by itself:\n${process.stderr}`)
  const failure = process.messages.find(({ what }) => what === 'failed')
  if (failure !== undefined) throw new Error(failure.message)
  return process.messages
}
