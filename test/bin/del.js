'use strict'

// flumelog del: deletes records. The question that it asks on a terminal is in screen.js.

const fs = require('fs')
const path = require('path')
const test = require('tape')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { flumelog, refuses } = require('../helpers/command-line')
const { makeLog, deleteFrom, readLog } = require('../helpers/logs')
const { promises } = require('../helpers/promises')

const textsOf = async (file) => (await readLog(file)).map(({ value }) => value.toString())

test('del deletes the records at these offsets, each once, and says which', async (t) => {
  const file = testFolder(t)('log')
  const seqs = await makeLog(file, ['secret', 'b', 'c', 'the last'])
  const { code, stdout, stderr } = await flumelog(['del', file, 'end', '0', String(seqs[3]), '--yes'])
  t.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '', stderr: `${file}: deleted 2 records (14 bytes) at offsets 0, ${seqs[3]}\n` })
  t.deepEqual(await textsOf(file), ['b', 'c'])
  t.notOk(fs.readFileSync(file).includes('secret'), 'the data is gone')
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['log'], 'the log was closed')
})

test('if one of the records is not there, del says so and deletes nothing', async (t) => {
  const name = testFolder(t)
  const seqs = await makeLog(name('log'), ['a', 'b', 'c'])
  await deleteFrom(name('log'), [seqs[1]])
  const before = fs.readFileSync(name('log'))
  const del = (...args) => flumelog(['del', name('log'), '--yes', ...args.map(String)])
  refuses(t, await del(seqs[0], 3), 1, /log: no record starts at offset 3; use flumelog dump --seqs to list the offsets$/m, 'within a record')
  refuses(t, await del(seqs[0], seqs[1]), 1, /log: the record at offset 5 was deleted before; nothing deleted$/m, 'deleted before')
  refuses(t, await del(seqs[0], 100000), 1, /no record at offset 100000/, 'behind the end')
  refuses(t, await flumelog(['del', name('missing'), '0', '--yes']), 1, /missing: no such file; check the name$/m, 'no log')
  t.ok(fs.readFileSync(name('log')).equals(before))
  t.deepEqual(fs.readdirSync(name('.')), ['log'], 'no log was created')
})

test('del of a log that another process owns goes through that process, and fails if it does not share the log', async (t) => {
  const name = testFolder(t)
  const owner = promises(FlumeLog(name('shared'), { shared: true }))
  await owner.append(['a', 'b'])
  const { code, stderr } = await flumelog(['del', name('shared'), '0', '--yes'])
  t.deepEqual({ code, stderr }, { code: 0, stderr: `${name('shared')}: deleted 1 record (1 byte) at offset 0, through the process that owns the log\n` })
  t.deepEqual(await textsOf(name('shared')), ['b'])
  await owner.close()

  const writer = promises(FlumeLog(name('log')))
  await writer.append(['a', 'b'])
  refuses(t, await flumelog(['del', name('log'), '0', '--yes']), 1, /log: another program has this log open for writing and does not share it; close it there first/, 'not shared')
  await writer.close()
  t.deepEqual(await textsOf(name('log')), ['a', 'b'])
})
