'use strict'

// Cursors with promises: beside a writer in another process or log object, in shared logs, with a codec.

const tape = require('tape')
const { open } = require('../../promises')
const { testFolder } = require('../helpers/folder')

const codec = { encode: JSON.stringify, decode: JSON.parse, buffer: false }

tape('a cursor decodes records as its log does, and is closed at the end of `await using`', async (t) => {
  const log = await open(testFolder(t)('log'), { codec })
  await log.append([{ n: 1 }, { n: 2 }])
  const cursor = log.cursor('mailer')
  const values = []
  for await (const { seq, value } of cursor.stream()) {
    values.push(value.n)
    await cursor.commit(seq)
  }
  t.deepEqual(values, [1, 2])
  t.deepEqual([cursor.name, cursor.cursor.name], ['mailer', 'mailer'])
  await cursor[Symbol.asyncDispose]()
  t.equal(cursor.seq, undefined)
  await log.close()
})

tape('a name has one cursor in a log, which is closed for all who use it', async (t) => {
  const log = await open(testFolder(t)('log'))
  await log.append(['one'])
  const cursor = log.cursor('mailer')
  t.equal(log.cursor('mailer'), cursor)
  t.notEqual(log.cursor('indexer'), cursor)
  await log.cursor('mailer').close()
  t.equal(await cursor.commit(0).catch(err => err.code), 'flumelog:closed')
  const next = log.cursor('mailer')
  t.notEqual(next, cursor, 'then it can be had again')
  await next.commit(0)
  t.equal(log.cursor('mailer').seq, 0)
  await log.close()
})

for (const [who, options] of [['a reader beside the writer', { readOnly: true }], ['a client of a shared log', { shared: true }]]) {
  tape(`${who} has cursors of its own, and resumes as the writer goes on`, async (t) => {
    const file = testFolder(t)('log')
    const writer = await open(file, { codec, shared: options.shared })
    await writer.append([{ n: 0 }, { n: 1 }, { n: 2 }])
    const given = []
    for (let round = 0; round < 3; round++) {
      const consumer = await open(file, { codec, ...options })
      const cursor = consumer.cursor('consumer')
      for await (const { seq, value } of cursor.stream({ live: true })) {
        given.push(value.n)
        await cursor.commit(seq)
        if (value.n % 3 === 2) break
      }
      await consumer.close()
      await writer.append([3, 4, 5].map(n => ({ n: n + 3 * round })))
    }
    t.deepEqual(given, [0, 1, 2, 3, 4, 5, 6, 7, 8])
    const own = writer.cursor('consumer')
    await own.commit(writer.since.value)
    const rest = []
    for await (const record of own.stream()) rest.push(record)
    t.deepEqual(rest, [], 'any process of the log can hold it')
    await writer.close()
  })
}

tape('a client that becomes the owner of a shared log keeps its cursors', async (t) => {
  const file = testFolder(t)('log')
  const [owner, client] = [await open(file, { codec, shared: true }), await open(file, { codec, shared: true })]
  await owner.append([{ n: 0 }, { n: 1 }])
  const cursor = client.cursor('consumer')
  const stream = cursor.stream({ live: true })
  const first = (await stream.next()).value
  await cursor.commit(first.seq)
  await owner.close()
  await client.append({ n: 2 })
  t.equal(client.role, 'owner')
  const seqs = [first.seq]
  while (seqs.length < 3) {
    const { value: { seq } } = await stream.next()
    await cursor.commit(seq)
    seqs.push(seq)
  }
  t.equal(cursor.seq, seqs[2])
  await client.close()
  const again = await open(file, { codec, shared: true })
  t.equal(await again.cursor('consumer').ready(), seqs[2])
  await again.close()
})
