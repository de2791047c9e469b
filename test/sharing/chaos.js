'use strict'

// Up to eight processes append to a log, delete, trim, read and follow, and one or two only read; owners and clients are killed or stopped
// at random: what was acknowledged is there exactly once, in order, and was seen once by
// everybody. `node test/sharing/chaos.js --takeovers 500 --seed N` runs for longer, with `--actions REGEX` only some of what is done,
// and with `--blocks MILLISECONDS` half of the event loops are blocked for up to that long, now and then.

const tape = require('tape')
const fs = require('fs')
const { parseArgs } = require('util')
const { testFolder } = require('../helpers/folder')
const { noSmallDisk, smallDisk } = require('../helpers/full')
const { Round } = require('../helpers/chaos/round')
const { thorough } = require('../helpers/thorough')

const { values } = parseArgs({ options: { takeovers: { type: 'string', default: thorough ? '30' : '3' }, seed: { type: 'string', default: String(Date.now() % 2 ** 31) }, actions: { type: 'string', default: '' }, blocks: { type: 'string' } } })
const TAKEOVERS = Number(values.takeovers)
const SEED = Number(values.seed)
/** Then the log starts empty again. */
const TAKEOVERS_A_ROUND = 15
const DISK_SIZE = '64m'

tape(`${TAKEOVERS} takeovers lose nothing, store nothing twice, and leave nobody waiting`, async (t) => {
  t.comment(`--seed ${SEED} repeats it, as far as the moments can be repeated`)
  if (noSmallDisk !== null) t.comment(`without a disk that becomes full: ${noSmallDisk}`)
  const counts = { takeovers: 0, acknowledged: 0, deleted: 0, trims: 0, notFound: 0, followers: 0, compactions: 0, errors: {}, actions: {} }
  for (let number = 0; counts.takeovers < TAKEOVERS; number++) {
    const disk = noSmallDisk === null ? smallDisk(t, DISK_SIZE) : null
    const round = new Round(t, { file: (disk?.file ?? testFolder(t))('folder/log'), seed: SEED + number, firstMember: 1, disk, actions: new RegExp(values.actions), blocks: values.blocks === undefined ? null : Number(values.blocks) })
    await round.run(Math.min(TAKEOVERS_A_ROUND, TAKEOVERS - counts.takeovers))
    const { history, problems } = round
    if (problems.length > 0) t.fail(`seed ${SEED + number}, ${JSON.stringify({ ...round.options, ...round.does, blocks: round.blocks })}: ${problems.slice(0, 20).join('\n')}\n${JSON.stringify(round.counts)}`)
    counts.takeovers += round.takeovers
    counts.acknowledged += history.acknowledged.size
    counts.deleted += history.deleted.size
    counts.trims += history.trims.size
    counts.notFound += history.gone.size
    counts.followers += history.seen.length
    counts.compactions += history.compactions.size
    for (const [what, count] of history.errors) counts.errors[what] = (counts.errors[what] ?? 0) + count
    for (const [what, count] of Object.entries(round.counts)) counts.actions[what] = (counts.actions[what] ?? 0) + count
    if (problems.length > 0) break
    t.comment(`${counts.takeovers} takeovers: ${fs.statSync(round.file).size} bytes ${JSON.stringify({ ...round.options, ...round.does, blocks: round.blocks })}`)
    disk?.remove()
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.acknowledged > 0, `${counts.acknowledged} records were acknowledged, ${counts.deleted} deleted; ${counts.followers} followers saw all`)
})
