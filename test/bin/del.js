'use strict'

// flumelog del: deletes records. The question that it asks on a terminal is in screen.js.

const fs = require('fs')
const path = require('path')
const test = require('tape')
const FlumeLog = require('../..')
const { filesIn, testFolder } = require('../helpers/folder')
const { refuses } = require('../helpers/command-line')
const { makeLog, deleteFrom, textsOf } = require('../helpers/logs')
const { promises } = require('../helpers/promises')
const { flumelog } = require('../helpers/warm-flumelog')

test('del deletes the records at these offsets, each once, and says which', async (t) => {
  const file = testFolder(t)('log')
  const seqs = await makeLog(file, ['secret', 'b', 'c', 'the last'])
  const { code, stdout, stderr } = await flumelog(['del', file, 'end', '0', String(seqs[3]), '--yes'])
  t.deepEqual({ code, stdout, stderr }, { code: 0, stdout: `${file}: deleted 2 records (14 bytes) at offsets 0, ${seqs[3]}\n`, stderr: '' })
  t.deepEqual(await textsOf(file), ['b', 'c'])
  t.notOk(fs.readFileSync(file).includes('secret'), 'the data is gone')
  t.deepEqual(filesIn(path.dirname(file)), ['log'], 'the log was closed')
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
  t.deepEqual(filesIn(name('.')), ['log'], 'no log was created')
})

test('del of a log that another process owns goes through that process, and fails if it does not share the log', async (t) => {
  const name = testFolder(t)
  const owner = promises(FlumeLog(name('shared'), { shared: true }))
  await owner.append(['a', 'b'])
  const { code, stdout } = await flumelog(['del', name('shared'), '0', '--yes'])
  t.deepEqual({ code, stdout }, { code: 0, stdout: `${name('shared')}: deleted 1 record (1 byte) at offset 0, through the process that owns the log\n` })
  t.deepEqual(await textsOf(name('shared')), ['b'])
  await owner.close()

  const writer = promises(FlumeLog(name('log')))
  await writer.append(['a', 'b'])
  refuses(t, await flumelog(['del', name('log'), '0', '--yes']), 1, /log: another program has this log open for writing and does not share it; close it there first/, 'not shared')
  await writer.close()
  t.deepEqual(await textsOf(name('log')), ['a', 'b'])
})

test('del of a range deletes the records in it, and says how many; start and end are the first and the last one', async (t) => {
  const name = testFolder(t)
  const texts = ['a', 'b', 'c', 'd', 'e']
  const CASES = [
    [['--gt', 'start', '--lt', 'end'], ['a', 'e'], 'deleted 3 records (3 bytes) from offset 5 to 15'],
    [['--gte', '5', '--lte', '10'], ['a', 'd', 'e'], 'deleted 2 records (2 bytes) from offset 5 to 10'],
    [['--gte', 'start'], [], 'deleted 5 records (5 bytes) from offset 0 to 20'],
    [['--lte', 'end'], [], 'deleted 5 records (5 bytes) from offset 0 to 20'],
    [['--gt', 'end'], texts, 'no record is in this range'],
    [['--lt', '5', '--gt', '5'], texts, 'no record is in this range']
  ]
  for (const [args, expected, message] of CASES) {
    const file = name(args.join(''))
    await makeLog(file, texts)
    const { code, stdout } = await flumelog(['del', file, ...args, '--yes'])
    t.deepEqual({ code, stdout }, { code: 0, stdout: `${file}: ${message}\n` }, args.join(' '))
    t.deepEqual(await textsOf(file), expected)
  }
})

test('del needs offsets or a range, and not both', async (t) => {
  const file = testFolder(t)('log')
  await makeLog(file, ['a', 'b'])
  refuses(t, await flumelog(['del', file, '--yes']), 2, /give at least one offset, or a range by --gt, --gte, --lt or --lte/, 'neither')
  refuses(t, await flumelog(['del', file, '0', '--lt', '9', '--yes']), 2, /offsets cannot be combined with --gt, --gte, --lt or --lte/, 'both')
  refuses(t, await flumelog(['del', file, '--lt', 'x', '--yes']), 2, /must be an integer, start or end/, 'no bound')
  t.deepEqual(await textsOf(file), ['a', 'b'])
})

test('del of a range goes through the process that owns the log', async (t) => {
  const file = testFolder(t)('log')
  const owner = promises(FlumeLog(file, { shared: true }))
  await owner.append(['a', 'b', 'c'])
  const { code, stdout } = await flumelog(['del', file, '--gt', '0', '--yes'])
  t.deepEqual({ code, stdout }, { code: 0, stdout: `${file}: deleted 2 records (2 bytes) from offset 5 to 10, through the process that owns the log\n` })
  t.deepEqual(await textsOf(file), ['a'])
  await owner.close()
})
