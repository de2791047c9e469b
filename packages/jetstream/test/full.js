'use strict'

// An account, a server or a stream has no space left: appends fail with ENOSPC at once, nothing of them stays, and appending works again when there is room.

const test = require('tape')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { withNats, startServer, streamName } = require('./helpers/nats')
const { codeOf, collect } = require('../../../test/helpers/reading')

const LIMIT = 300_000
const ACCOUNT = `accounts {
  A {
    jetstream { max_disk: ${LIMIT} }
    users: [
      { user: a, password: b }
      { user: c, password: d, permissions: { publish: { deny: ["$JS.API.INFO"] } } }
    ]
  }
}`

const records = (/** @type {number} */ count, /** @type {number} */ first) => Array.from({ length: count }, (_, i) => Buffer.alloc(1000, 1 + (first + i) % 255))
const outcomeOf = (/** @type {Promise<any>} */ append) => append.then(() => 'stored', ({ code }) => code)
const countIn = async (/** @type {any} */ log) => (await collect(log.log)).length

withNats('a log in a stream without space', (file) => {
  test('of an append that gets ENOSPC, nothing stays, and there is room again once records are deleted', async (t) => {
    const server = await startServer(file, ACCOUNT)
    for (const options of [{ atomic: true }, {}]) {
      const stream = streamName()
      const log = openLog(server, { user: 'a', pass: 'b', stream })
      await log.append(records(200, 1))
      t.equal(await codeOf(log.append(records(200, 2), options)), 'ENOSPC')
      t.equal(await countIn(log), 200, JSON.stringify(options))
      // over several batches
      t.equal(await codeOf(log.append(records(2500, 2))), 'ENOSPC')
      t.equal(await countIn(log), 200)
      await log.del({ lte: 150 })
      await log.append(records(100, 3), options)
      t.equal(await countIn(log), 150)
      await log.del({ lte: log.log.since.value })
      await log.close()
    }
    await server.stop()
  })

  test('no record of an atomic append for which the account has no space is ever stored, and what is appended behind it is, if there is space for it', async (t) => {
    const server = await startServer(file, ACCOUNT)
    const log = openLog(server, { user: 'a', pass: 'b' })
    await log.append(records(100, 1))
    const appends = [log.append(records(20, 2)), log.append(records(200, 2), { atomic: true }), log.append(records(1, 3)), log.append(records(1, 4))]
    t.deepEqual(await Promise.all(appends.map(outcomeOf)), ['stored', 'ENOSPC', 'stored', 'stored'])
    t.equal(log.log.since.value, 122, 'each record that is stored takes a sequence')
    await log.close()
    await server.stop()
  })

  test('a program that may not ask how much space there is gets ENOSPC, too, and nothing stays', async (t) => {
    const server = await startServer(file, ACCOUNT)
    const log = openLog(server, { user: 'c', pass: 'd' })
    await log.append(records(200, 1))
    const appends = [log.append(records(200, 2), { atomic: true }), log.append(records(2, 3))]
    t.deepEqual(await Promise.all(appends.map(outcomeOf)), ['ENOSPC', 'stored'])
    t.equal(await countIn(log), 202)
    await log.close()
    await server.stop()
  })

  test('a server whose storage is full', async (t) => {
    const server = await startServer(file, '', { store: `max_file_store: ${LIMIT}` })
    const log = openLog(server)
    await log.append(records(200, 1))
    t.equal(await codeOf(log.append(records(200, 2), { atomic: true })), 'ENOSPC')
    for (let i = 0; i < 3; i++) t.equal(await codeOf(log.append(records(200, 2))), 'ENOSPC')
    t.equal(await countIn(log), 200)
    await log.close()
    await server.stop()
  })

  test.onFinish(closeLogs)
})
