'use strict'

// flumelog pull

const fs = require('fs')
const test = require('tape')
const { flumelog, start } = require('../../../test/helpers/command-line')
const { testFolder } = require('../../../test/helpers/folder')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { withNats, withServer, streamName, startServer } = require('./helpers/nats')
const { isCopy, recordsIn } = require('./helpers/pulling')
const { runtime } = require('../../../test/helpers/runtime')

withServer('flumelog pull', (shared) => {
  test('--no-live copies a stream, and says what it has done; the next one goes on', async (t) => {
    const copy = testFolder(t)('copy')
    const stream = streamName()
    const log = openLog(shared.server, { stream })
    await log.append(['one', 'two', Buffer.alloc(100_000, 'large')])
    const url = `${shared.server.url}/${stream}`
    const small = await flumelog(['pull', url, copy, '--no-live'])
    t.equal(small.code, 1)
    t.match(small.stderr, /message 3 of stream \S+ cannot be stored: a record of 100000 bytes is too large: .*; use --large for larger ones\n$/)
    const { code, stdout, stderr } = await flumelog(['pull', url, copy, '--no-live', '--large'])
    t.deepEqual([code, stderr], [0, ''])
    t.match(stdout, /: pulled 1 record, 100 kB, in \d+\.\d\d s\n$/)
    await isCopy(t, shared.server, stream, copy, 'it is a copy', { large: true })
    await log.del(1)
    const { stdout: deleted } = await flumelog(['pull', url, copy, '--no-live', '--large'])
    t.match(deleted, /: pulled 0 records, 0 bytes, in .*; 1 record deleted\n$/)
    const again = await flumelog(['pull', url, copy, '--no-live', '--large', '--json'])
    t.deepEqual({ ...JSON.parse(again.stdout), seconds: 0 }, { stream, file: copy, records: 0, bytes: 0, deleted: 0, seq: 3, lag: 0, seconds: 0 })
    const quiet = await flumelog(['pull', url, copy, '--no-live', '--large', '--quiet'])
    t.equal(quiet.stdout + quiet.stderr, '')
  })

  test('it follows the stream until it is interrupted, and ends with exit code 0', async (t) => {
    const copy = testFolder(t)('copy')
    const stream = streamName()
    const log = openLog(shared.server, { stream })
    await log.append('one')
    const running = start(t, ['pull', `${shared.server.url}/${stream}`, copy, '--metrics', '0'], { columns: 100 })
    await running.printed(({ stderr }) => stderr.includes('pulling  1 record, 3 bytes  '))
    const [, metrics] = /metrics: (\S+)/.exec(running.stderr)
    t.ok((await (await fetch(metrics)).text()).includes(`# TYPE flumelog_pull_records_total counter\nflumelog_pull_records_total{stream="${stream}"} 1\n`), 'metrics for Prometheus')
    await log.append('two')
    await running.printed(({ stderr }) => stderr.includes('pulling  2 records, 6 bytes  '))
    const { code, stdout } = await running.kill('SIGINT')
    t.equal(code, 0)
    t.match(stdout, /copy: pulled 2 records, 6 bytes, in /)
    t.deepEqual(await recordsIn(copy), ['one', 'two'])
  })

  test('an address that is not one of a stream is wrong usage, and the message says what is', async (t) => {
    const file = testFolder(t)('log')
    const said = {
      'nats://127.0.0.1/%zz': /<stream> must have two hexadecimal digits after each %/,
      'nats://u%:p@127.0.0.1/posts': /<stream> must have two hexadecimal digits after each %/,
      'nats://127.0.0.1/two%20words': /<stream> must end in the name of a stream, which has no blanks/,
      'nats://127.0.0.1/posts.*': /<stream> must end in the name of a stream/,
      'nats://127.0.0.1': /<stream> must be nats:\/\/HOST\[:PORT\]\/STREAM/
    }
    for (const [address, message] of Object.entries(said)) {
      const { code, stderr } = await flumelog(['pull', address, file])
      t.deepEqual([code, message.test(stderr)], [2, true], stderr)
    }
    t.notOk(fs.existsSync(file), 'no log is made')
  })

  test('wrong usage, a stream that does not exist, and one that needs credentials', async (t) => {
    const copy = testFolder(t)('copy')
    for (const url of ['copy.log', 'http://127.0.0.1/a', 'nats://127.0.0.1', 'nats:///a']) {
      const { code, stderr } = await flumelog(['pull', url, copy])
      t.equal(code, 2, url)
      t.match(stderr, /<stream> must be nats:\/\/HOST\[:PORT\]\/STREAM/)
    }
    const { code, stderr } = await flumelog(['pull', `${shared.server.url}/${streamName()}`, copy, '--no-live'])
    t.deepEqual([code, /there is no such stream/.test(stderr)], [1, true])
  })

  test.onFinish(closeLogs)
})

withNats('flumelog pull with a password', (file) => {
  test('the user and the password are part of the address', async (t) => {
    const copy = testFolder(t)('copy')
    const server = await startServer(file, 'authorization { user: me, password: "a:b c" }')
    const stream = streamName()
    const log = openLog(server, { stream, user: 'me', pass: 'a:b c' })
    await log.append('one')
    const address = (user) => `${server.url.replace('//', `//${user}@`)}/${stream}`
    t.equal((await flumelog(['pull', address('me:a%3Ab%20c'), copy, '--no-live'])).code, 0)
    t.deepEqual(await recordsIn(copy), ['one'])
    const { code, stderr } = await flumelog(['pull', address('me:other'), copy, '--no-live'])
    t.equal(code, 1)
    // on Deno, the package that talks to NATS can miss why the connection was closed
    t.match(stderr, runtime === 'deno' ? /refused the request|ECONNRESET|EPIPE/ : /refused the request/)
    await log.close()
    await server.stop()
  })
})
