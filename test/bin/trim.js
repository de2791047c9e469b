'use strict'

// flumelog trim: removes blocks at the head of a log.

const test = require('tape')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { refuses } = require('../helpers/command-line')
const { makeLog, readLog } = require('../helpers/logs')
const { promises } = require('../helpers/promises')
const { flumelog } = require('../helpers/warm-flumelog')

const records = Array.from({ length: 1000 }, (_, i) => `record ${String(i).padStart(4, '0')} ${'x'.repeat(87)}`)

test('trim removes blocks before an offset, or all but the last bytes or records', async (t) => {
  for (const [options, isKept] of [
    [['--lt', '50000'], (seq) => seq >= 50000],
    [['--keep-bytes', '3e4'], (seq, size) => seq >= size - 30000],
    [['--keep-records', '100'], (seq, size, i) => i >= 900]
  ]) {
    const file = testFolder(t)('log')
    const seqs = await makeLog(file, records, { blockSize: 4096 })
    const { code, stdout, stderr } = await flumelog(['trim', file, ...options, '--yes'])
    t.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    t.match(stdout, /log: trimmed [\d.]+ kB: the log starts at offset \d+\n$/)
    const start = Number(/\d+$/.exec(stdout.trim())[0])
    const left = await readLog(file)
    t.equal(left[0].seq, start)
    const size = seqs.at(-1) + 104
    const kept = seqs.filter((seq, i) => isKept(seq, size, i))
    t.ok(kept.every(seq => seq >= start) && start > kept[0] - 2 * 4096, options.join(' '))
    t.match((await flumelog(['trim', file, ...options, '--yes'])).stdout, /log: nothing to trim/)
    t.match((await flumelog(['stat', file])).stdout, new RegExp(`^start +offset ${start.toLocaleString('en')}; `, 'm'))
    t.equal(JSON.parse((await flumelog(['stat', file, '--json'])).stdout).start, start)
    t.match((await flumelog(['verify', file])).stdout, new RegExp(`valid: .*, from offset ${start} on: what was before is trimmed`))
    t.match((await flumelog(['dump', file, '--limit', '1', '--seqs'])).stdout, new RegExp(`^${start}\trecord`))
    refuses(t, await flumelog(['get', file, '5']), 1, /before the log's start at \d+: what was there was trimmed$/m, 'get')
  }
})

test('trim takes start and end as offsets, and says why there is nothing to trim', async (t) => {
  const file = testFolder(t)('log')
  const seqs = await makeLog(file, records, { blockSize: 4096 })
  const trim = async (lt) => (await flumelog(['trim', file, '--lt', lt, '--yes'])).stdout
  t.match(await trim('start'), /log: nothing to trim: no whole block is before offset 0\n$/)
  t.match(await trim('5e3'), /log: nothing to trim: the first block is removed only together with the second\n$/)
  t.match(await trim('5'), /log: nothing to trim: no whole block is before offset 5\n$/)
  const last = seqs.at(-1)
  t.match(await trim('end'), new RegExp(`log: trimmed .*: the log starts at offset ${last - last % 4096}\n$`))
  const end = last + 103
  t.match(await trim('1e9'), new RegExp(`log: nothing to trim: offset 1000000000 is after the log's end at ${end}, and the block with the last record stays\n$`))
  t.match(await trim('5'), new RegExp(`log: nothing to trim: the log already starts at offset ${last - last % 4096}\n$`))
})

test('the help of trim says what its options keep', async (t) => {
  const { stdout } = await flumelog(['help', 'trim'])
  t.match(stdout, /--keep-bytes <number> +keep at least this many bytes at the end of the\s+log\n/)
  t.match(stdout, /--keep-records <number> +keep at least this many records that are not\s+deleted\n/)
})

test('trim of a log that another process owns is done by that process', async (t) => {
  const file = testFolder(t)('log')
  const owner = promises(FlumeLog(file, { shared: true, blockSize: 4096 }))
  await owner.append(records)
  const { code, stdout } = await flumelog(['trim', file, '--lt', '50000', '--yes'])
  t.equal(code, 0)
  t.match(stdout, /log: trimmed .*, by the process that owns the log\n$/)
  t.ok(owner.log.start > 0)
  await owner.close()
})

test('trim asks, and refuses what it cannot do', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), records)
  refuses(t, await flumelog(['trim', name('log'), '--lt', '5']), 2, /--yes is required/, 'without a terminal')
  refuses(t, await flumelog(['trim', name('log'), '--yes']), 2, /give --lt, --keep-bytes or --keep-records/, 'no bound')
  refuses(t, await flumelog(['trim', name('log'), '--lt', 'x', '--yes']), 2, /must be start, end or an integer of 0 or more/, 'no number')
  refuses(t, await flumelog(['trim', name('missing'), '--lt', '5', '--yes']), 1, /missing: no such file; check the name$/m, 'no file')
})
