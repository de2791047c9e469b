'use strict'

// Logs of values of JSON.

const fs = require('fs')
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

tape('the error of a record that is refused names the log', async (t) => {
  const file = testFolder(t)('log')
  const throwing = { encode () { throw new Error('of the codec') }, decode: data => data }
  const cases = [[{}, 'x'.repeat(70000)], [{}, ''], [{}, Buffer.alloc(8)], [{}, 5], [{ codec: throwing }, 'x'], [{ codec: 'json' }, undefined]]
  for (const [options, value] of cases) {
    const log = await open(file, { ...options, sync: 'never' })
    for (const err of [await log.append(value).catch(err => err), await log.append([value]).catch(err => err)]) {
      t.ok(err.message.startsWith(`${file}: `), err.message)
      t.equal(err.filename, file)
    }
    await log.close()
    fs.rmSync(file)
  }
  const log = await open(file)
  const err = await log.append(['x'.repeat(40000), 'x'.repeat(40000)], { atomic: true }).catch(err => err)
  t.ok(err.message.startsWith(`${file}: an atomic batch`), err.message)
  await log.close()
})
