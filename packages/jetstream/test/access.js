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

/** @returns {string[]} the files of a certificate and its key */
function makeCertificate (t, folder, prefix) {
  const [cert, key] = ['cert.pem', 'key.pem'].map(name => path.join(folder, `${prefix}${name}`))
  const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost',
    '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert], { encoding: 'utf8' })
  t.equal(made.status, 0, made.stderr)
  return [cert, key]
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
    const [cert, key] = makeCertificate(t, folder, '')
    await onServer(file, `tls { cert_file: ${JSON.stringify(cert)}, key_file: ${JSON.stringify(key)} }`, async (server) => {
      t.equal(await openLog(server, { tls: { caFile: cert } }).append('a'), 1)
      t.equal(await openLog(server, { tls: { ca: fs.readFileSync(cert, 'utf8') } }).append('a'), 1)
      const err = await openLog(server, { tls: true, timeout: 600_000 }).onReady().catch(err => err)
      t.equal(err.code, 'flumelog:unreachable')
      t.match(err.message, /certificate of the NATS server is not trusted/)
      t.equal(await codeOf(openLog(server, { tls: { caFile: `${cert}.missing` } }).onReady()), 'flumelog:invalid')
      const [otherCert, otherKey] = makeCertificate(t, folder, 'other')
      for (const [tls, message] of [
        [{ caFile: cert, certFile: __filename, keyFile: key }, /access\.js has no certificate in PEM/],
        [{ caFile: cert, certFile: cert, keyFile: cert }, /cert\.pem has no private key without a passphrase in PEM/],
        [{ caFile: cert, certFile: cert, keyFile: otherKey }, /the key of tls \(.*otherkey\.pem\) is not that of its certificate \(.*cert\.pem\)/],
        [{ caFile: cert, certFile: otherCert }, /a certificate without a key/],
        [{ caFile: cert, keyFile: otherKey }, /a key without a certificate/],
        [{ ca: 'garbage' }, /tls\.ca has no certificate in PEM/],
        [{ caFile: cert, cert: Buffer.from('garbage'), key: 'garbage' }, /tls\.cert has no certificate in PEM/]
      ]) {
        const err = await openLog(server, { tls, timeout: 600_000 }).onReady().catch(err => err)
        t.equal(err.code, 'flumelog:invalid')
        t.match(err.message, message)
      }
      t.equal(await openLog(server, { tls: { ca: fs.readFileSync(cert), certFile: otherCert, keyFile: otherKey } }).append('a'), 1)
      t.throws(() => JetStreamLog({ stream: 's', tls: { certfile: cert } }), { code: 'flumelog:invalid', message: /certfile/ })
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

  test('addresses of servers that cannot be are refused at once', (t) => {
    for (const servers of [[], '', 'nats://', '127.0.0.1:0', '127.0.0.1:99999', 'nats://127.0.0.1:abc', 'nats://u:p@127.0.0.1', 'nats://127.0.0.1/messages', 'http://127.0.0.1:4222', 'a b', 4222, ['127.0.0.1', null]]) {
      t.throws(() => JetStreamLog({ stream: 's', servers }), { code: 'flumelog:invalid', message: /servers must be an address such as/ }, JSON.stringify(servers))
    }
    for (const servers of ['n1', 'n1:4222', 'nats://n1', 'tls://n1.example.org:4222/', '::1', '[::1]:4222', 'nats://[::1]:4222', ['n1', 'n2:1']]) {
      const log = JetStreamLog({ stream: 's', servers })
      log.close()
    }
    t.end()
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

  test('a user whose answers may only be below the inbox prefix of the connection', (t) => onServer(file, `authorization { users: [
      { user: u, password: p, permissions: { subscribe: ["_mine.>", "$JS.EVENT.ADVISORY.STREAM.*.*"] } }
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

  test('a user who lacks a permission gets flumelog:server, which names it, and waits for nothing', async (t) => {
    const lacking = {
      ask: [{ publish: ['$JS.API.STREAM.MSG.GET.S'] }, log => log.onReady(), /Publish to "\$JS\.API\.STREAM\.MSG\.GET\.S"/],
      hear: [{ subscribe: ['$JS.EVENT.>'] }, log => log.get(1), /Subscription to "\$JS\.EVENT\.ADVISORY\.STREAM\.\*\.S"/],
      read: [{ publish: ['$JS.API.DIRECT.>'] }, log => collect(log.log, { reverse: true }), /Publish to "\$JS\.API\.DIRECT\.GET\.S"/],
      follow: [{ publish: ['$JS.API.CONSUMER.CREATE.>'] }, log => collect(log.log, { live: true }), /Publish to "\$JS\.API\.CONSUMER\.CREATE\.S\./],
      fetch: [{ publish: ['$JS.API.CONSUMER.MSG.NEXT.>'] }, log => collect(log.log.cursor('c'), { live: true }), /Publish to "\$JS\.API\.CONSUMER\.MSG\.NEXT\.S\.c"/],
      count: [{ publish: ['$JS.API.CONSUMER.INFO.>'] }, log => collect(log.log.cursor('c')), /Publish to "\$JS\.API\.CONSUMER\.INFO\.S\.c"/]
    }
    const users = Object.entries(lacking).map(([user, [denied]]) => {
      const permissions = Object.entries(denied).map(([what, subjects]) => `${what}: { deny: ${JSON.stringify(subjects)} }`)
      return `{ user: ${user}, password: p, permissions: { ${permissions} } }`
    })
    await onServer(file, `authorization { users: [\n{ user: all, password: p }\n${users.join('\n')}\n] }`, async (server) => {
      const open = (user) => openLog(server, { stream: 'S', user, pass: 'p', timeout: 600_000 })
      await open('all').append(['a', 'b'])
      for (const [user, [, call, message]] of Object.entries(lacking)) {
        const err = await call(open(user)).catch(err => err)
        t.equal(err.code, 'flumelog:server', user)
        t.match(err.message, message)
      }
    })
  })

  test('a user who loses a permission that is needed: everything ends with flumelog:server after the next reconnect', async (t) => {
    const users = (denied) => `authorization { users: [{ user: u, password: p, permissions: { publish: { deny: ["x"${denied}] } } }] }`
    await onServer(file, users(''), async (server) => {
      const log = openLog(server, { user: 'u', pass: 'p', timeout: 600_000 })
      await log.append('a')
      const end = collect(log.log, { live: true }).catch(err => err)
      await server.stop()
      fs.writeFileSync(server.configuration, fs.readFileSync(server.configuration, 'utf8').replace(users(''), users(', "$JS.API.STREAM.MSG.GET.>"')))
      await server.start()
      t.match((await end).message, /Publish to "\$JS\.API\.STREAM\.MSG\.GET/)
      t.equal(await codeOf(log.get(1)), 'flumelog:server')
    })
  })

  test('the permissions that operating.md lists suffice', async (t) => {
    const page = fs.readFileSync(path.join(__dirname, '..', 'operating.md'), 'utf8')
    const rows = page.split('\n## Permissions\n')[1].split('\n## ')[0].split('\n').filter(line => line.startsWith('| ')).slice(2).map(row => row.split('|').slice(1, -1).map(cell => [...cell.matchAll(/`([^`]+)`/g)].map(([, subject]) => subject)))
    const user = (name, rows) => `{ user: ${name}, password: p, permissions: { publish: ${JSON.stringify(rows.flatMap(([, publish]) => publish))}, subscribe: ${JSON.stringify(rows.flatMap(([,, subscribe]) => subscribe))} } }`
    const users = `authorization { users: [\n${user('reader', rows.slice(0, 1))}\n${user('all', rows)}\n] }`
    const options = { stream: 'messages', user: 'all', pass: 'p', timeout: 600_000 }
    const numbers = Array.from({ length: 3000 }, (_, i) => String(i))
    const newLog = testFolder(t)
    await onServer(file, users, async (server) => {
      const log = openLog(server, options)
      await log.append(numbers)
      await log.append('one', { key: 'k' })
      await log.append('more', { after: 3001 })
      await log.del(1)
      t.equal(await codeOf(log.get(1)), 'flumelog:deleted')
      t.equal((await collect(log.log)).length, 3001)
      t.equal((await collect(log.log, { reverse: true })).length, 3001)
      const next = collect(log.log, { old: false, limit: 1 })
      await log.append('live')
      t.equal((await next).length, 1)
      const cursor = log.log.cursor('c', { commitWithin: 60_000 })
      const [{ seq }] = await collect(cursor, { limit: 1 })
      await new Promise((resolve, reject) => cursor.commit(seq, err => err ? reject(err) : resolve()))
      t.deepEqual((await new Promise((resolve, reject) => log.log.cursors((err, list) => err ? reject(err) : resolve(list)))).map(({ name }) => name), ['c'])
      const reader = openLog(server, { ...options, user: 'reader', readOnly: true })
      t.equal(String(await reader.get(2)), '1')
      t.equal((await collect(reader.log)).length, 3002)
      const copy = promises(FlumeLog(newLog('copy')))
      t.equal((await JetStreamLog.pull({ servers: server.url, ...options }, copy.log, { live: false })).records, 3002)
      await copy.close()
    })
    await onServer(file, users, async (server) => {
      const log = promises(FlumeLog(newLog('log'), { blockSize: 1024 }))
      await log.append(numbers)
      const mirror = () => JetStreamLog.mirror(log.log, { servers: server.url, ...options }, { live: false })
      t.equal((await mirror()).records, 3000)
      await log.trim({ lt: log.log.since.value })
      t.ok((await mirror()).deleted > 2000)
      await log.close()
    })
  })
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
