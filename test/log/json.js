'use strict'

// Logs of values of JSON.

const tape = require('tape')
const FlumeLog = require('../..')
const { open } = require('../../promises')
const { testFolder } = require('../helpers/folder')
const { codeOf, collect } = require('../helpers/reading')

tape("with codec: 'json', records are values of JSON, as with a codec of their own", async (t) => {
  const file = testFolder(t)('log')
  const log = await open(file, { codec: 'json' })
  const values = [{ item: 'tea', count: 2 }, ['a', null], 'text', 0]
  const seq = await log.append(values)
  t.deepEqual((await collect(log.flumelog)).map(({ value }) => value), values)
  t.equal(await log.get(seq), 0)
  t.equal(await codeOf(log.append(() => {})), 'flumelog:invalid', 'what is no JSON is refused')
  await log.close()
  const again = await open(file, { codec: { encode: JSON.stringify, decode: JSON.parse } })
  t.deepEqual(await again.get(0), values[0])
  await again.close()
})

tape('an object without a codec, and a codec that is none, are errors that name the way to store it', async (t) => {
  const file = testFolder(t)('log')
  const log = await open(file)
  const err = await log.append({ item: 'tea' }).catch(err => err)
  t.equal(err.code, 'flumelog:invalid')
  t.ok(err.message.startsWith(file), 'the error names the file')
  t.match(err.message, /codec: 'json'/)
  t.throws(() => FlumeLog(file, { codec: 'yaml' }), /codec must be 'json', or an object .* it is 'yaml'/)
  await log.close()
})
