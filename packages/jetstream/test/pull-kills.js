'use strict'

// A pull that is killed at random moments, while the stream grows, records of it are deleted and the server is killed, too: in the end, the copy
// equals the stream. TEST_THOROUGH=1: 20 kills.

const path = require('path')
const { spawn } = require('child_process')
const test = require('tape')
const { pause } = require('./helpers/disturbed-streams')
const { testFolder } = require('../../../test/helpers/folder')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { withNats, startServer, startCluster, streamName } = require('./helpers/nats')
const { Pulling, pullOnce, isCopy, request, recordsIn } = require('./helpers/pulling')
const { randomFrom } = require('../../../test/helpers/random')
const { thorough } = require('../../../test/helpers/thorough')

const FLUMELOG = path.join(__dirname, '../../../bin/flumelog.js')
const KILLS = thorough ? 20 : 4
const LONGEST = thorough ? 2500 : 1500

withNats('a pull that is killed', (file) => {
  test('a copy equals its stream, however often its pull and the server were killed', async (t) => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
    t.comment(`SEED=${seed}`)
    const random = randomFrom(seed)
    const copy = testFolder(t)('copy')
    const server = await startServer(file)
    const stream = streamName()
    const log = openLog(server, { stream })
    await log.onReady()
    const work = { isStopped: false }
    let last = 0

    async function append () {
      while (!work.isStopped) {
        last = await log.append(Array.from({ length: 1 + random.below(300) }, () => Buffer.from(`${random.below(4)}`.repeat(1 + random.below(300)))))
        await pause(random.below(40))
      }
    }

    async function remove () {
      while (!work.isStopped) {
        await pause(random.below(200))
        const seqs = Array.from({ length: 1 + random.below(5) }, () => 1 + random.below(last))
        if (last > 0) await log.del(seqs)
      }
    }

    /** @type {import('child_process').ChildProcess | undefined} */
    let child
    const working = Promise.all([append(), remove()])
    t.teardown(async () => {
      work.isStopped = true
      child?.kill('SIGKILL')
      await working.catch(() => {})
      await log.close().catch(() => {})
      await server.stop()
    })
    for (let i = 0; i < KILLS; i++) {
      child = spawn(process.execPath, [FLUMELOG, 'pull', `${server.url}/${stream}`, copy, '--quiet'], { stdio: ['ignore', 'ignore', 'pipe'] })
      let output = ''
      child.stderr.setEncoding('utf8').on('data', text => { output += text })
      const ended = new Promise(resolve => child.on('exit', (code, signal) => resolve(signal ?? code)))
      await pause(random.below(LONGEST))
      if (i % 3 === 1) await server.restart()
      // one purge, in the middle of the records
      if (i === Math.floor(KILLS / 2)) await request(server, `STREAM.PURGE.${stream}`, { seq: Math.floor(last / 3) })
      child.kill('SIGKILL')
      const end = await ended
      if (end !== 'SIGKILL') t.fail(`the pull has ended with ${end}: ${output}`)
    }
    work.isStopped = true
    await working
    const before = (await recordsIn(copy).catch(() => [])).length
    await pullOnce(server, stream, copy)
    await isCopy(t, server, stream, copy, `${last} messages, ${KILLS} kills, after which ${before} records were there`)
  })

  test('a live pull goes on when the leader of three servers is killed, or hangs', { skip: !thorough && 'TEST_THOROUGH=1' }, async (t) => {
    const copy = testFolder(t)('copy')
    const servers = await startCluster(file)
    const urls = servers.map(({ url }) => url)
    const stream = streamName()
    const log = openLog({ url: urls }, { stream, replicas: 3, timeout: 60_000 })
    await log.append('first')
    const pulling = new Pulling({ url: urls }, stream, copy)
    const work = { isStopped: false, last: 1 }
    const appending = (async () => {
      while (!work.isStopped) {
        work.last = await log.append(Array.from({ length: 20 }, (_, i) => Buffer.from(`${work.last + i}`)))
        await log.del(work.last - 7)
        await pause(20)
      }
    })()
    t.teardown(async () => {
      work.isStopped = true
      await appending.catch(() => {})
      await pulling.stop()
      await log.close().catch(() => {})
      await Promise.all(servers.map(server => server.stop()))
    })
    for (let i = 0; i < 6; i++) {
      await pulling.until(({ seq }) => seq > work.last - 100)
      const { cluster } = JSON.parse((await request({ url: urls }, `STREAM.INFO.${stream}`)).string())
      const leader = servers.find(({ port }) => `n${port}` === cluster.leader)
      if (i % 2 === 0) await leader.restart()
      else {
        leader.send('SIGSTOP')
        await pause(8000)
        leader.send('SIGCONT')
      }
      const { last } = work
      while (work.last < last + 200) await pause(10)
    }
    work.isStopped = true
    await appending
    await pulling.until(({ seq, lag }) => seq === work.last && lag === 0)
    t.equal(await pulling.stop(), 'stopped')
    await pullOnce({ url: urls }, stream, copy)
    await isCopy(t, { url: urls }, stream, copy, `${work.last} messages`)
  })

  test.onFinish(closeLogs)
})
