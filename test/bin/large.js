'use strict'

// The commands on a log with large records: they show them whole.

const test = require('tape')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { promises } = require('../helpers/promises')
const { collect } = require('../helpers/reading')
const { flumelog } = require('../helpers/warm-flumelog')

const LONG = 'a long line '.repeat(200_000)

test('append --large stores lines of any length, and all commands show them whole', async (t) => {
  const file = testFolder(t)('log')
  const input = `first\n${LONG}\nlast\n`
  const appended = await flumelog(['append', file, '--large'], { input })
  t.ok(appended.stdout.includes('appended 3 records'), appended.stdout)
  const log = promises(FlumeLog(file, { readOnly: true, large: true }))
  const [{ seq: first }, { seq }] = await collect(log.log)
  await log.close()

  t.equal((await flumelog(['dump', file])).stdout, input)
  t.equal((await flumelog(['dump', file, '--reverse'])).stdout, `last\n${LONG}\nfirst\n`)
  t.equal((await flumelog(['dump', file, '--tail', '2', '--seqs'])).stdout.split('\n')[0], `${seq}\t${LONG}`)
  t.equal((await flumelog(['dump', file, '--limit', '2', '--format', 'ndjson'])).stdout.split('\n')[1], JSON.stringify({ seq, value: LONG }))
  t.equal((await flumelog(['get', file, String(seq)])).stdout.trimEnd(), LONG.trimEnd())
  t.equal((await flumelog(['verify', file])).code, 0, 'the log is valid')
  const { records, parts } = JSON.parse((await flumelog(['stat', file, '--json'])).stdout)
  t.equal(records - parts, 3, 'stat tells how many were appended')
  t.match((await flumelog(['stat', file])).stdout, new RegExp(`^records {7}${records}: 3 appended, and ${parts} more chunks of large ones$`, 'm'))
  const { stderr } = await flumelog(['get', file, '65536'])
  t.ok(/no record starts at offset 65536, only a chunk of a large one/.test(stderr), stderr)

  t.equal((await flumelog(['del', file, String(seq), '--yes'])).code, 0)
  t.equal((await flumelog(['dump', file, '--seqs'])).stdout.split('\n')[0], `${first}\tfirst`)
  t.equal((await flumelog(['dump', file])).stdout, 'first\nlast\n')
})

test('without --large, append says that there is this option', async (t) => {
  const { stderr, code } = await flumelog(['append', testFolder(t)('log')], { input: `${LONG}\n` })
  t.equal(code, 1)
  t.ok(/more than 65,522 bytes cannot be stored in blocks of 65,536 bytes; with --large, they are stored in chunks/.test(stderr), stderr)
})

test('trim --keep-records keeps as many large records, with all their chunks', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file, { large: true, blockSize: 1024 }))
  for (let i = 0; i < 20; i++) await log.append(Buffer.alloc(5000, i + 1))
  await log.close()
  t.equal((await flumelog(['trim', file, '--keep-records', '7', '--yes'])).code, 0)
  const again = promises(FlumeLog(file, { readOnly: true, large: true }))
  const left = await collect(again.log, { seqs: false })
  t.ok(left.length === 7 || left.length === 8, `${left.length} are left`)
  t.ok(left.every(value => value.length === 5000))
  t.ok(again.log.start > 0)
  await again.close()
})
