'use strict'

// `vm` contexts have classes of their own, so what they make is no instance of this one's.

const path = require('path')
const vm = require('vm')
const tape = require('tape')
const FlumeLog = require('../..')
const { until } = require('../helpers/followers')
const { testFolder } = require('../helpers/folder')
const { promises } = require('../helpers/promises')
const { codeOf, collect } = require('../helpers/reading')
const { newRealm } = require('../helpers/realm')

const ENTRIES = path.join(__dirname, '..', '..')
const texts = async (log) => (await collect(log, { seqs: false })).map(String)

tape('records of another realm can be appended', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  const bytes = vm.runInNewContext('Uint8Array.from([97, 98, 99])')
  t.notOk(bytes instanceof Uint8Array, 'its Uint8Array is another one')
  await log.append(bytes)
  await log.append(vm.runInNewContext('[Uint8Array.from([100]), "e", Uint8Array.from([102])]'))
  await log.append([bytes, Buffer.from('g')], { atomic: true })
  t.equal(await codeOf(log.append(vm.runInNewContext('new Uint8Array(3)'))), 'flumelog:invalid', 'zeros are refused as always')
  t.equal(await codeOf(log.append(vm.runInNewContext('new Uint16Array(3)'))), 'flumelog:invalid', 'and so is what has no bytes')
  t.equal(await codeOf(log.append(vm.runInNewContext('new Uint8Array(70000).fill(1)'))), 'flumelog:too-large', 'or too many')
  await log.close()
  const again = promises(FlumeLog(file))
  t.deepEqual(await texts(again.log), ['abc', 'd', 'e', 'f', 'abc', 'g'])
  await again.close()
})

tape('so can what a codec makes there', async (t) => {
  const codec = {
    encode: vm.runInNewContext('text => Uint8Array.from(text, letter => letter.charCodeAt(0))'),
    decode: bytes => bytes.toString('latin1'),
    buffer: true
  }
  const log = promises(FlumeLog(testFolder(t)('log'), { codec }))
  await log.append('one')
  await log.append(['two', 'three'])
  t.deepEqual(await collect(log.log, { seqs: false }), ['one', 'two', 'three'])
  await log.close()
})

tape('a log that is loaded in another realm, as test runners do it, appends, reads and shares', async (t) => {
  const folder = testFolder(t)
  const { context, load } = newRealm()
  const { open } = load(path.join(ENTRIES, 'promises.js'))
  for (const options of [{}, { blockSize: 256, sync: 'always' }, { shared: true }]) {
    const file = folder(`log-${Object.keys(options).join('-')}`)
    const log = await open(file, options)
    const other = options.shared ? promises(FlumeLog(file, options)) : null
    await log.append('one')
    await log.append([Buffer.from('two'), vm.runInContext('Uint8Array.from([51])', context)])
    await other?.append(Buffer.from('four'))
    const found = []
    for await (const { value } of log.stream({ lt: 1e6 })) found.push(String(value))
    t.deepEqual(found, other === null ? ['one', 'two', '3'] : ['one', 'two', '3', 'four'])
    if (other === null) await log.del(0)
    t.equal(await codeOf(log.get(1)), 'flumelog:not-found')
    await other?.close()
    await log.close()
    t.deepEqual((await texts(FlumeLog(file, { readOnly: true }))).slice(-1), found.slice(-1), 'this realm reads it')
  }
})

tape('a Date of another realm is the time of a record', async (t) => {
  const time = vm.runInNewContext('data => new Date(Number(data))')
  t.notOk(time('1') instanceof Date, 'its Date is another one')
  const log = promises(FlumeLog(testFolder(t)('log'), { blockSize: 64, sync: 'always', retain: { age: 60_000, time } }))
  const old = Date.now() - 3_600_000
  for (let i = 0; i < 40; i++) await log.append(String(old + i).padStart(40))
  await until(() => log.log.start > 0)
  t.ok(log.log.start > 0, 'old records are removed')
  await log.close()
})
