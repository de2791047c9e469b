'use strict'

// When a mirror or a pull says that it falls behind. The clock is the test's.

const test = require('tape')
const FlumeLog = require('flumelog-random-access-file')
const { mirror } = require('..')
const { Lag, PATIENCE } = require('../lib/lag')
const { Pulling } = require('./helpers/pulling')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { withNats, startServer, streamName } = require('./helpers/nats')
const { testFolder } = require('../../../test/helpers/folder')
const { promises } = require('../../../test/helpers/promises')

/** @returns {{ lag: Lag, said: string[], wait: (milliseconds: number) => void }} */
function withClock () {
  let now = 0
  const said = []
  return { lag: new Lag(type => said.push(type), () => now), said, wait: (milliseconds) => { now += milliseconds } }
}

test('what does not reach where its source ended falls behind, and has caught up when it does', (t) => {
  const { lag, said, wait } = withClock()
  lag.note(5, 5)
  lag.note(5, 20)
  lag.note(5, 100)
  wait(PATIENCE - 1)
  lag.note(19, 200)
  t.deepEqual(said, [])
  wait(1)
  lag.note(19, 300)
  lag.note(19, 400)
  t.deepEqual(said, ['lag'])
  lag.note(20, 500)
  t.deepEqual(said, ['lag', 'current'])
  t.end()
})

test('what follows a source that always grows does not fall behind, however long that takes', (t) => {
  const { lag, said, wait } = withClock()
  for (let end = 10; end < 10_000; end += 10) {
    lag.note(end - 10, end)
    wait(PATIENCE / 2)
  }
  t.deepEqual(said, [])
  t.end()
})

withNats('lag', (file) => {
  test('a mirror whose server does not answer says that it falls behind, and that it has caught up', async (t) => {
    const server = await startServer(file)
    const log = promises(FlumeLog(testFolder(t)('log')))
    await log.append('a')
    const stop = new AbortController()
    /** @type {any[]} */
    const said = []
    let next = () => {}
    const onStatus = (status) => { said.push(status); next() }
    const until = async (is) => { while (!is()) await new Promise(resolve => { next = resolve }) }
    let progress = { records: 0, lag: 0 }
    const mirroring = mirror(log.log, { servers: server.url, stream: streamName(), onStatus }, { signal: stop.signal, onProgress: (now) => { progress = now; next() } }).catch(err => err)
    await until(() => progress.records === 1 && progress.lag === 0)
    await server.stop()
    await log.append('b')
    await until(() => said.some(({ type }) => type === 'lag'))
    t.ok(said.find(({ type }) => type === 'lag').lag > 0, 'and how far')
    await server.start()
    await until(() => said.some(({ type }) => type === 'current'))
    t.deepEqual(said.map(({ type }) => type).filter(type => ['lag', 'current'].includes(type)).slice(0, 2), ['lag', 'current'])
    stop.abort('stopped')
    t.equal(await mirroring, 'stopped')
    await log.close()
    await server.stop()
  })

  test('a pull of a stream whose last messages are deleted has no lag', async (t) => {
    const server = await startServer(file)
    const stream = streamName()
    const log = openLog(server, { stream })
    await log.append(['a', 'b', 'c'])
    await log.del([2, 3])
    const pulling = new Pulling(server, stream, testFolder(t)('copy'))
    await pulling.until(({ seq, lag }) => seq === 1 && lag === 0)
    await log.append(['d'])
    await pulling.until(({ seq, lag }) => seq === 4 && lag === 0)
    t.equal(await pulling.stop(), 'stopped')
    await log.close()
    await server.stop()
  })

  test.onFinish(closeLogs)
})
