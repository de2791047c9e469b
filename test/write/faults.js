'use strict'

// What callers are told when operations on the file fail. The simulator has any operation fail.

const tape = require('tape')
const pull = require('pull-stream')
const { ControlledFile } = require('../helpers/controlled-file')

const BLOCK_SIZE = 128

tape('after a failed sync every append gets flumelog:failed until the log is opened again', async (t) => {
  const file = new ControlledFile()
  const log = open(file, { sync: 'always' })
  await log.append(record(1))
  file.fail('sync')
  t.equal(await codeOf(log.append(record(2))), 'flumelog:failed')
  t.equal(await codeOf(log.append(record(3))), 'flumelog:failed')
  t.equal(await codeOf(log.append([record(4), record(5)])), 'flumelog:failed')
  t.equal(await codeOf(log.sync()), 'flumelog:failed')
  t.equal(await codeOf(log.del(0)), 'flumelog:failed')
  t.deepEqual(await numbersIn(log), [1], 'reading goes on')
  t.equal(await codeOf(log.close()), 'flumelog:failed', 'close tells it once more')

  const again = open(file, { sync: 'always' })
  t.deepEqual((await numbersIn(again)).slice(0, 1), [1])
  await again.append(record(6))
  t.equal((await numbersIn(again)).pop(), 6, 'appending works again')
  await again.close()
})

tape('a failed sync in the background fails the appends that follow it', async (t) => {
  const file = new ControlledFile()
  const log = open(file, { sync: 'interval', syncBytes: 200 })
  await log.append(record(1))
  file.fail('sync')
  const codes = []
  for (let i = 2; i < 30; i++) codes.push(await codeOf(log.append(record(i, 40))))
  const failed = codes.indexOf('flumelog:failed')
  t.ok(failed > 0, `append ${failed + 2} was the first to get flumelog:failed`)
  t.ok(codes.slice(failed).every(code => code === 'flumelog:failed'), 'so did all after it')
  t.deepEqual(await numbersIn(log), Array.from({ length: failed + 1 }, (_, i) => i + 1), 'those before it are there')
  await codeOf(log.close())
})

tape('a failed read is reported to its caller, and the next call reads again', async (t) => {
  const file = new ControlledFile()
  const first = open(file, {})
  for (let i = 1; i < 40; i++) await first.append(record(i, 40))
  await first.close()
  const log = open(file, {})
  await log.onReady()
  file.fail('read')
  const [one, two] = await Promise.all([codeOf(log.get(0)), codeOf(log.get(BLOCK_SIZE * 3))])
  t.equal(one, 'EIO', 'the first gets the error')
  t.equal(two, null, 'another, of another block, does not')
  t.equal(number(await log.get(0)), 1, 'asked again, it is there')
  await log.close()
})

tape('a batch is stored completely or not at all when a write fails', async (t) => {
  for (let n = 1; n < 12; n++) {
    const file = new ControlledFile()
    const log = open(file, { sync: 'interval' })
    await log.append(record(1))
    file.fail('write', 1 + n % 3)
    const batches = [2, 3, 4, 5, 6].map(i => Array.from({ length: 30 }, () => record(i, 40)))
    const codes = []
    for (const batch of batches) codes.push(await codeOf(log.append(batch)))
    const counts = new Map()
    for (const i of await numbersIn(log)) counts.set(i, (counts.get(i) ?? 0) + 1)
    for (const [i, code] of codes.entries()) {
      const stored = counts.get(i + 2) ?? 0
      if (stored !== (code === null ? 30 : 0)) t.fail(`batch ${i + 2} got ${code}, and ${stored} of its records are there`)
    }
    await log.close()
  }
  t.pass('so they are')
})

function open (file, options) {
  return file.open({ blockSize: BLOCK_SIZE, ...options })
}

function record (i, size = 20) {
  const value = Buffer.alloc(size, 1)
  value.writeUInt32LE(i)
  return value
}

const number = (value) => value.readUInt32LE()

function streamOf ({ log }) {
  return new Promise((resolve, reject) => pull(log.stream(), pull.collect((err, all) => err ? reject(err) : resolve(all))))
}

async function numbersIn (log) {
  return (await streamOf(log)).map(({ value }) => number(value))
}

/** @returns {Promise<string | null>} null if all went well */
const codeOf = (promise) => promise.then(() => null, err => err.code)
