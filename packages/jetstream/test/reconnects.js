'use strict'

// The server is killed, stopped and continued in the middle of appends and live streams.

const fs = require('fs')
const net = require('net')
const path = require('path')
const test = require('tape')
const { following, withDisturbances, pause } = require('./helpers/disturbed-streams')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { withNats, startServer, streamName } = require('./helpers/nats')
const { start: startProgram } = require('../../../test/helpers/processes')
const { collect, codeOf } = require('../../../test/helpers/reading')
const { thorough } = require('../../../test/helpers/thorough')

const codec = require('flumecodec').json

withNats('a log in a stream whose servers are killed', (file) => {
  test('a server that is killed and restarted', async (t) => {
    const server = await startServer(file)
    await withDisturbances(t, [server.url], {}, async (round) => {
      for (let i = 0; i < (thorough ? 20 : 3); i++) await round(() => server.restart(i % 3 === 2 ? 'SIGTERM' : 'SIGKILL'))
      await round(async () => {
        server.send('SIGSTOP')
        await pause(500)
        server.send('SIGCONT')
      })
    })
    await server.stop()
  })

  test('a log tells when its connection breaks, and when it is there again', async (t) => {
    const server = await startServer(file)
    const said = []
    let next = () => {}
    const stream = streamName()
    const log = openLog(server, { stream, onStatus: (status) => { said.push(status); next() } })
    await log.append('a record')
    const until = async (type) => { while (said.at(-1)?.type !== type) await new Promise(resolve => { next = resolve }) }
    await server.stop()
    await until('disconnect')
    await server.start()
    await until('reconnect')
    t.ok(said.every(status => status.stream === stream && server.url.endsWith(status.server)), JSON.stringify(said))
    await log.close()
    await server.stop()
  })

  test('a server ends when the process that has started it is killed', async (t) => {
    const program = startProgram(t, path.join(__dirname, 'helpers', 'programs', 'start-server.js'), null)
    const { port, folder } = await program.message(({ port }) => port)
    t.teardown(() => fs.rmSync(folder, { recursive: true }))
    program.child.kill('SIGKILL')
    const isThere = () => new Promise(resolve => net.connect(port, '127.0.0.1').on('connect', function () {
      this.destroy()
      resolve(true)
    }).on('error', () => resolve(false)))
    while (await isThere()) await pause(20)
    t.pass('it takes no connections')
  })

  test('without a server, reads fail in time, appends wait, and close says what became of them', async (t) => {
    const server = await startServer(file)
    const log = openLog(server, { codec, timeout: 300 })
    await log.append(1)
    await server.stop()
    const waiting = log.append(2)
    t.equal(await codeOf(log.get(1)), 'flumelog:unreachable')
    t.equal(await codeOf(collect(log.log)), 'flumelog:unreachable')
    await server.start()
    t.equal(await waiting, 2, 'the append is made when the server is back')
    t.equal(await log.get(1), 1)
    await server.stop()
    const lost = codeOf(log.append(3))
    t.equal(await codeOf(log.close()), 'flumelog:unreachable')
    // the client may have noticed before it sent it: then it is not stored
    t.match(await lost, /^flumelog:(unreachable|closed)$/)
  })

  test('a live stream of a log that is closed without knowing what became of its appends ends with the error of close', async (t) => {
    const server = await startServer(file)
    const log = openLog(server, { codec, timeout: 2000 })
    await log.append(1)
    const live = following(log.log)
    await live.until(1)
    await server.stop()
    const lost = codeOf(log.append(2))
    t.equal(await codeOf(log.close()), 'flumelog:unreachable')
    t.equal((await live.ended).code, 'flumelog:unreachable')
    t.match(await lost, /^flumelog:(unreachable|closed)$/)
  })

  test.onFinish(closeLogs)
})
