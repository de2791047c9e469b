'use strict'

// flumelog cursors: lists the cursors of a log, and deletes one.

const fs = require('fs')
const test = require('tape')
const { open } = require('../../promises')
const { testFolder } = require('../helpers/folder')
const { collect } = require('../helpers/reading')
const { flumelog } = require('../helpers/warm-flumelog')

/** A log with three cursors, one of which this process holds. */
async function withCursors (name) {
  const log = await open(name('log'), { blockSize: 4096 })
  await log.append(Array.from({ length: 1000 }, (_, i) => `record ${i}`))
  const seqs = await collect(log.flumelog, { values: false })
  await log.cursor('indexer').ready()
  await log.cursor('mailer').commit(seqs[989])
  await log.cursor('up-to-date').commit(seqs[999])
  await log.cursor('up-to-date').close()
  await log.cursor('indexer').close()
  return { log, seqs }
}

test('cursors lists each cursor with its lag, and says which are held', async (t) => {
  const name = testFolder(t)
  const { log, seqs } = await withCursors(name)
  const { size } = log.stats()
  const { code, stdout, stderr } = await flumelog(['cursors', 'log'], { cwd: name('.') })
  t.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  t.equal(stdout, `cursor        seq  held  lag
indexer      none  no    1,000 records, ${(size / 1000).toFixed(1)} kB
mailer      ${seqs[989]}  yes   10 records, 140 bytes
up-to-date  ${seqs[999]}  no    0 records, 0 bytes
`)
  const json = JSON.parse((await flumelog(['cursors', 'log', '--json'], { cwd: name('.') })).stdout)
  t.deepEqual(json, {
    file: 'log',
    end: size,
    cursors: [
      { name: 'indexer', seq: -1, held: false, lag: { bytes: size, records: 1000 } },
      { name: 'mailer', seq: seqs[989], held: true, lag: { bytes: 140, records: 10 } },
      { name: 'up-to-date', seq: seqs[999], held: false, lag: { bytes: 0, records: 0 } }
    ]
  })
  await log.close()
})

test('the lag of a cursor that is behind the start of a trimmed log is the whole log', async (t) => {
  const name = testFolder(t)
  const { log, seqs } = await withCursors(name)
  await log.cursor('indexer').commit(seqs[5])
  const start = await log.trim({ lt: seqs[980] })
  await log.close()
  const { cursors: [indexer, mailer], end } = JSON.parse((await flumelog(['cursors', name('log'), '--json'])).stdout)
  t.deepEqual(indexer.lag, { bytes: end - start, records: seqs.filter(seq => seq >= start).length })
  t.deepEqual(mailer.lag, { bytes: 140, records: 10 })
})

test('cursors --delete deletes a cursor that nobody holds', async (t) => {
  const name = testFolder(t)
  const { log } = await withCursors(name)
  const del = (cursor) => flumelog(['cursors', 'log', '--delete', cursor], { cwd: name('.') })
  t.deepEqual(pick(await del('mailer')), { code: 1, stdout: '', stderr: 'flumelog: log: a process holds the cursor mailer; close it there first\n' })
  t.deepEqual(pick(await del('indexer')), { code: 0, stdout: 'log: deleted the cursor indexer\n', stderr: '' })
  t.deepEqual(pick(await del('indexer')), { code: 1, stdout: '', stderr: 'flumelog: log: no cursor indexer; it has mailer, up-to-date\n' })
  t.equal(await log.cursor('indexer').ready(), -1, 'it can be created again')
  await log.close()
  const { stdout } = await flumelog(['cursors', 'log', '--delete', 'mailer', '--json'], { cwd: name('.') })
  t.deepEqual(JSON.parse(stdout), { file: 'log', deleted: 'mailer' })
})

test('cursors says which cursor is corrupt, or after the end of the log', async (t) => {
  const name = testFolder(t)
  const { log, seqs } = await withCursors(name)
  await log.close()
  fs.truncateSync(name('log.cursor-indexer'), 100)
  fs.truncateSync(name('log'), 4096)
  const { code, stdout } = await flumelog(['cursors', name('log')])
  t.equal(code, 0)
  t.deepEqual(stdout.split('\n').slice(1, -1).map(line => line.replace(/ {2,}/g, '|').trim()), [
    'indexer|corrupt|no|', `mailer|${seqs[989]}|no|after the end of the log`, `up-to-date|${seqs[999]}|no|after the end of the log`
  ])
})

test('cursors of a log that has none, or is not there', async (t) => {
  const name = testFolder(t)
  await (await open(name('log'))).close()
  t.deepEqual(pick(await flumelog(['cursors', 'log'], { cwd: name('.') })), { code: 0, stdout: 'log: no cursors\n', stderr: '' })
  t.deepEqual(pick(await flumelog(['cursors', 'lag'], { cwd: name('.') })), { code: 1, stdout: '', stderr: 'flumelog: lag: no such file; check the name\n' })
  t.deepEqual(pick(await flumelog(['cursors', 'lag', '-d', 'a'], { cwd: name('.') })), { code: 1, stdout: '', stderr: 'flumelog: lag: no such file; check the name\n' })
  t.deepEqual(pick(await flumelog(['cursors', 'log', '-d', 'a'], { cwd: name('.') })), { code: 1, stdout: '', stderr: 'flumelog: log: no cursor a\n' })
})

function pick ({ code, stdout, stderr }) {
  return { code, stdout, stderr }
}
