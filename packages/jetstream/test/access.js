'use strict'

// How a log gets at its stream: users, tokens, credentials and TLS; streams that are created, that exist already, and that are full.

const fs = require('fs')
const path = require('path')
const { spawnSync } = require('child_process')
const test = require('tape')
const nkeys = require('@nats-io/transport-node').nkeys
const { connect } = require('@nats-io/transport-node')
const { jetstreamManager } = require('@nats-io/jetstream')
const FlumeLog = require('flumelog-random-access-file')
const JetStreamLog = require('..')
const { flumelog } = require('../../../test/helpers/command-line')
const { testFolder, processFolder } = require('../../../test/helpers/folder')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { muteLine } = require('./helpers/mute-line')
const { withNats, withServer, startServer, streamName } = require('./helpers/nats')
const { promises } = require('../../../test/helpers/promises')
const { codeOf, collect, until } = require('../../../test/helpers/reading')

/** Runs with a server of its own. */
async function onServer (file, configuration, run) {
  const server = await startServer(file, configuration)
  try {
    await run(server)
  } finally {
    await closeLogs()
    await server.stop()
  }
}

withNats('access to a stream', (file) => {
  test('a user with a password', (t) => onServer(file, 'authorization { user: u, password: p }', async (server) => {
    t.equal(await openLog(server, { user: 'u', pass: 'p' }).append('a'), 1)
    t.equal(await codeOf(openLog(server, { user: 'u', pass: 'wrong' }).onReady()), 'flumelog:server')
    t.equal(await codeOf(openLog(server).append('a')), 'flumelog:server')
  }))

  test('a token', (t) => onServer(file, 'authorization { token: secret }', async (server) => {
    t.equal(await openLog(server, { token: 'secret' }).append('a'), 1)
    t.equal(await codeOf(openLog(server, { token: 'wrong' }).onReady()), 'flumelog:server')
  }))

  test('a file with credentials, or its bytes', async (t) => {
    const user = nkeys.createUser()
    const creds = `-----BEGIN NATS USER JWT-----\n${['{}', '{}', 'x'].map(part => Buffer.from(part).toString('base64url')).join('.')}\n------END NATS USER JWT------\n\n` +
      `-----BEGIN USER NKEY SEED-----\n${Buffer.from(user.getSeed())}\n------END USER NKEY SEED------\n`
    const name = testFolder(t)('user.creds')
    fs.writeFileSync(name, creds)
    await onServer(file, `authorization { users: [{ nkey: ${user.getPublicKey()} }] }`, async (server) => {
      t.equal(await openLog(server, { creds: name }).append('a'), 1)
      t.equal(await openLog(server, { creds: Buffer.from(creds) }).append('a'), 1)
      t.equal(await codeOf(openLog(server).onReady()), 'flumelog:server')
    })
    for (const creds of [`${name}.missing`, __filename, Buffer.from('none')]) {
      t.equal(await codeOf(openLog({ url: 'nats://127.0.0.1:1' }, { creds }).onReady()), 'flumelog:invalid')
    }
  })

  test('TLS, with a certificate of its own', async (t) => {
    const folder = processFolder()
    const [cert, key] = ['cert.pem', 'key.pem'].map(name => path.join(folder, name))
    const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost',
      '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert], { encoding: 'utf8' })
    t.equal(made.status, 0, made.stderr)
    await onServer(file, `tls { cert_file: ${JSON.stringify(cert)}, key_file: ${JSON.stringify(key)} }`, async (server) => {
      t.equal(await openLog(server, { tls: { caFile: cert } }).append('a'), 1)
      t.equal(await openLog(server, { tls: { ca: fs.readFileSync(cert, 'utf8') } }).append('a'), 1)
      const err = await openLog(server, { tls: true, timeout: 600_000 }).onReady().catch(err => err)
      t.equal(err.code, 'flumelog:unreachable')
      t.match(err.message, /certificate of the NATS server is not trusted/)
      t.equal(await codeOf(openLog(server, { tls: { caFile: `${cert}.missing` } }).onReady()), 'flumelog:invalid')
      const stream = streamName()
      const copy = path.join(folder, 'copy')
      await openLog(server, { stream, tls: { caFile: cert } }).append('a')
      const url = `${server.url}/${stream}`
      const refused = await flumelog(['pull', url, copy, '--no-live'])
      t.deepEqual([refused.code, fs.existsSync(copy)], [1, false], 'a pull that fails creates no log')
      t.equal((await flumelog(['pull', url, copy, '--no-live', '--ca', cert])).code, 0)
      t.equal((await flumelog(['pull', url, copy, '--no-live'], { env: { ...process.env, NATS_CA: cert } })).code, 0)
    })
    await onServer(file, '', async (server) => {
      t.equal(await codeOf(openLog(server, { tls: { caFile: cert }, timeout: 500 }).onReady()), 'flumelog:unreachable', 'a server without TLS')
    })
  })

  test('a connection of the caller stays open', (t) => onServer(file, '', async (server) => {
    const connection = await connect({ servers: server.url, inboxPrefix: '_mine' })
    const stream = streamName()
    const log = openLog(server, { servers: undefined, connection, stream })
    t.equal(await log.append(['a', 'b']), 2)
    const copy = promises(FlumeLog(path.join(processFolder(), stream)))
    t.equal((await JetStreamLog.pull({ connection, stream }, copy.log, { live: false })).records, 2)
    const target = streamName()
    t.equal((await JetStreamLog.mirror(copy.log, { connection, stream: target }, { live: false })).records, 2)
    await copy.close()
    const reading = openLog(server, { servers: undefined, connection, stream: target })
    t.equal((await collect(reading.log)).length, 2)
    await server.restart()
    t.equal(await log.append('c'), 3, 'also after a reconnect')
    await Promise.all([log.close(), reading.close()])
    t.equal(connection.isClosed(), false)
    t.equal(await codeOf(log.append('d')), 'flumelog:closed')
    await connection.flush()
    await connection.close()
    t.equal(await codeOf(openLog(server, { servers: undefined, connection }).onReady()), 'flumelog:invalid', 'a closed one')
    t.throws(() => JetStreamLog({ stream, connection, user: 'u' }), { code: 'flumelog:invalid' })
    t.throws(() => JetStreamLog({ stream, connection: {} }), { code: 'flumelog:invalid' })
  }))

  test('an append that may be stored when the caller drains the connection gets flumelog:unreachable', (t) => onServer(file, '', async (server) => {
    const stream = streamName()
    for (const value of ['the record', ['the record', 'another one']]) {
      const line = await muteLine(server.port, 'the record')
      const connection = await connect({ servers: line.url, reconnect: false })
      const log = openLog(server, { servers: undefined, connection, stream })
      // a batch, and one that is sent alone
      for (const value of ['a', 'b']) await log.append(value)
      const { writes } = log.log.stats()
      const code = codeOf(log.append(value))
      await until(() => log.log.stats().writes > writes)
      connection.drain().catch(() => {})
      t.equal(await code, 'flumelog:unreachable')
      line.close()
      await connection.closed()
    }
  }))

  test('a user who may subscribe only below the inbox prefix of the connection', (t) => onServer(file, `authorization { users: [
      { user: u, password: p, permissions: { subscribe: ["_mine.>"] } }
    ] }`, async (server) => {
    const connection = await connect({ servers: server.url, user: 'u', pass: 'p', inboxPrefix: '_mine' })
    const stream = streamName()
    const log = openLog(server, { servers: undefined, connection, stream })
    const texts = Array.from({ length: 10_000 }, (_, i) => String(i))
    await log.append('first')
    // one by one, if that is faster
    await Promise.all(texts.map(text => log.append(text)))
    // the end is far: read by a consumer
    t.deepEqual((await collect(log.log, { seqs: false })).map(String), ['first', ...texts])
    t.equal(String(await log.get(1)), 'first')
    await log.close()
    await connection.close()
  }))

  test('a user who may not append, or read', (t) => onServer(file, `authorization { users: [
      { user: all, password: p }
      { user: some, password: p, permissions: { publish: { deny: ["S.>", "$JS.API.DIRECT.>"] } } }
    ] }`, async (server) => {
    const log = openLog(server, { stream: 'S', user: 'all', pass: 'p' })
    await log.append('a')
    const other = openLog(server, { stream: 'S', user: 'some', pass: 'p' })
    await other.onReady()
    t.equal(await codeOf(other.append('b')), 'flumelog:server')
    t.equal(await codeOf(other.get(1)), 'flumelog:server')
    t.equal(await log.append('c'), 2)
  }))
})

withServer('the stream of a log', (shared) => {
  /** @type {import('@nats-io/jetstream').JetStreamManager} */
  let manager
  let nats
  test('a manager', async () => {
    nats = await connect({ servers: shared.server.url })
    manager = await jetstreamManager(nats)
  })

  test('a stream that does not exist is created with safe settings', async (t) => {
    const stream = streamName()
    await openLog(shared.server, { stream, subject: 'some.subject' }).append('a')
    const { config } = await manager.streams.info(stream)
    const { storage, retention, discard, num_replicas: replicas, max_msg_size: size, max_msgs: msgs, max_bytes: bytes, max_age: age, allow_direct: direct, allow_atomic: atomic, subjects } = config
    t.deepEqual({ storage, retention, discard, replicas, size, msgs, bytes, age, direct, atomic, subjects },
      { storage: 'file', retention: 'limits', discard: 'new', replicas: 1, size: 1048576, msgs: -1, bytes: -1, age: 0, direct: true, atomic: true, subjects: ['some.subject.>'] })
  })

  test('a stream that exists is used as it is, if it is suitable', async (t) => {
    const stream = streamName()
    const base = { name: stream, subjects: [`${stream}.>`], allow_direct: true, allow_atomic: true, max_msg_size: 2048 }
    for (const [change, message] of [[{ allow_direct: false }, /allow_direct/], [{ allow_atomic: false }, /allow_atomic/], [{ subjects: ['other.*'] }, /does not store the subjects/]]) {
      await manager.streams.add({ ...base, ...change })
      const log = openLog(shared.server, { stream })
      const err = await log.onReady().catch(err => err)
      t.equal(err?.code, 'flumelog:invalid')
      t.match(err?.message, message)
      await manager.streams.delete(stream)
    }
    await manager.streams.add({ ...base, subjects: ['a.*', 'x.>'] })
    const log = openLog(shared.server, { stream, subject: 'x' })
    t.equal(await log.append('a'), 1)
    t.equal(await codeOf(log.append(Buffer.alloc(1025, 1))), 'flumelog:too-large', 'max_msg_size holds')
    await log.close()
    await manager.streams.delete(stream)
  })

  test('a stream that is full refuses appends, and keeps what it has', async (t) => {
    const stream = streamName()
    await manager.streams.add({ name: stream, subjects: [`${stream}.>`], allow_direct: true, allow_atomic: true, max_msgs: 3, discard: 'new' })
    const log = openLog(shared.server, { stream })
    t.equal(await log.append(['a', 'b']), 2)
    t.equal(await codeOf(log.append(['c', 'd'])), 'ENOSPC')
    t.equal(await log.append('c'), 3, 'one that fits is stored')
    t.equal(await codeOf(log.append('d')), 'ENOSPC')
    await log.del(1)
    t.equal(await log.append('d'), 4)
    await log.close()
  })

  test('a stream that is deleted under a log ends its appends and reads', async (t) => {
    const stream = streamName()
    const log = openLog(shared.server, { stream, timeout: 300 })
    await log.append('a')
    await manager.streams.delete(stream)
    t.equal(await codeOf(log.append('b')), 'flumelog:replaced')
    t.equal(await codeOf(log.get(1)), 'flumelog:replaced')
    await log.close()
  })

  test.onFinish(async () => {
    await closeLogs()
    await nats?.close()
  })
})
