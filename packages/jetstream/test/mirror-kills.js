'use strict'

// Two mirrors of one log, by mistake, are killed at random moments while the log grows, and is trimmed and compacted: one at a time, since they have the same
// cursor, or both at once. `TEST_KILLS=200 node test/jetstream/mirror-kills.js` kills more often.

const path = require('path')
const test = require('tape')
const FlumeLog = require('flumelog-random-access-file')
const { mirror } = require('..')
const { testFolder } = require('../../../test/helpers/folder')
const { compare } = require('./helpers/mirrors')
const { withServer, streamName } = require('./helpers/nats')
const { start } = require('../../../test/helpers/processes')
const { promises } = require('../../../test/helpers/promises')
const { randomFrom } = require('../../../test/helpers/random')
const { collect } = require('../../../test/helpers/reading')
const { thorough } = require('../../../test/helpers/thorough')

const KILLS = Number(process.env.TEST_KILLS ?? (thorough ? 20 : 4))
const pause = (milliseconds) => new Promise(resolve => setTimeout(resolve, milliseconds))

withServer('a mirror that is killed', (shared) => {
  for (const cursors of [['mirror', 'mirror'], ['one', 'other']]) {
    const how = cursors[0] === cursors[1] ? 'by mistake' : 'with cursors of their own'
    test(`the mirror killed ${KILLS} times at random moments, with two running ${how}, with the log growing, trimmed and compacted: the stream equals the log`, (t) => killed(t, cursors))
  }

  async function killed (t, cursors) {
    const seed = Number(process.env.TEST_SEED ?? Date.now() % 1e6)
    t.comment(`TEST_SEED=${seed}`)
    const random = randomFrom(seed)
    const file = testFolder(t)('log')
    const stream = streamName()
    const { url } = shared.server
    const log = promises(FlumeLog(file, { blockSize: 1024 }))
    const compact = () => new Promise((resolve, reject) => log.log.compact({}, err => err ? reject(err) : resolve()))
    await log.append(Array.from({ length: 100 }, (_, i) => `record ${i}`))
    await mirror(log.log, { servers: url, stream }, { live: false })

    const counts = { appended: 100, deleted: 0, trims: 0, compactions: 0, kills: 0, mirrored: 100 }
    const writing = write()
    /** Mirrors that ended by themselves. */
    const failures = []
    await Promise.all(cursors.map(keepKilling))
    await writing
    t.deepEqual(failures, [], 'no mirror has ended by itself')
    t.comment(JSON.stringify(counts))
    const { records, deleted } = await mirror(log.log, { servers: url, stream }, { live: false })
    t.comment(`the last one mirrored ${records} and deleted ${deleted}`)
    await compare(t, url, stream, log, `${counts.kills} kills`)
    await log.close()

    async function write () {
      while (counts.kills < KILLS) {
        const what = random.below(100)
        const count = 1 + random.below(what === 0 ? 3000 : 20)
        // some records are equal
        await log.append(Array.from({ length: count }, (_, i) => random.below(3) === 0 ? 'again' : `record ${counts.appended + i}`))
        counts.appended += count
        if (what < 10) {
          const seqs = await collect(log.log, { values: false })
          const some = Array.from({ length: 1 + random.below(what < 2 ? 100 : 5) }, () => random.below(4) === 0 ? seqs.at(-1 - random.below(Math.min(50, seqs.length))) : random.pick(seqs))
          await log.del(some)
          counts.deleted += new Set(some).size
          if (what === 5 && seqs.length > 2000) {
            await log.trim({ lt: seqs[random.below(seqs.length - 1000)] })
            counts.trims++
          }
        }
        if (what >= 97) {
          await compact()
          counts.compactions++
        }
        await pause(random.below(40))
      }
    }

    async function keepKilling (cursor) {
      while (counts.kills < KILLS) {
        counts.kills++
        const program = start(t, path.join(__dirname, 'helpers/programs/mirror-until-killed.js'), { file, target: { servers: url, stream }, options: { cursor } })
        // half of the time, right from its start
        if (random.below(2) === 0) await Promise.race([program.message(() => true).catch(() => {}), pause(3000)])
        await Promise.race([program.over, pause(random.below(1000))])
        await program.kill()
        failures.push(...program.messages.filter(({ what }) => what === 'failed'), ...(program.stderr === '' ? [] : [program.stderr]))
        counts.mirrored += program.messages.at(-1)?.records ?? 0
        // some times both are away for a while
        if (random.below(5) === 0) await pause(random.below(1000))
      }
    }
  }
})
