'use strict'

// flumelog import and export.

const fs = require('fs')
const path = require('path')
const test = require('tape')
const { filesIn, testFolder } = require('../../../test/helpers/folder')
const { refuses } = require('../../../test/helpers/command-line')
const { makeLog, readLog, jsonRecords } = require('../../../test/helpers/logs')
const { OLD_LOGS, variedRecords } = require('../../../test/helpers/old-files')
const { flumelog } = require('../../../test/helpers/warm-flumelog')

const SIGNAL = path.join(__dirname, '../../../test/helpers/signal-at-call.js')

/** A file of flumelog-offset. */
function offsetFile (file, count, size) {
  const frame = Buffer.alloc(size + 14, 'x')
  const bytes = Buffer.concat(Array.from({ length: count }, (_, i) => {
    frame.writeUInt32BE(size)
    frame.write(`record ${i};`, 4)
    frame.writeUInt32BE(size, 4 + size)
    frame.writeUIntBE((i + 1) * (size + 14), 8 + size, 6)
    return Buffer.from(frame)
  }))
  fs.writeFileSync(file, bytes)
}

test('import says what was imported, what was not, and what to do with views', async (t) => {
  const name = testFolder(t)
  await OLD_LOGS['flumelog-offset-48'].make(name('old'), [...variedRecords(20), Buffer.alloc(70000, 'large')], [3])
  fs.appendFileSync(name('old'), 'torn')
  const { code, stdout, stderr } = await flumelog(['import', 'old', 'new', '--skip'], { cwd: name('.') })
  t.equal(code, 0, stderr)
  t.match(stdout, /^new: imported 19 records, [\d.]+ kB, from old \(flumelog-offset-48\)$/m)
  t.match(stdout, /^1 deleted record left out$/m)
  t.match(stdout, /^skipped 1 record: see new.skipped$/m)
  t.match(stdout, /^not imported: 4 bytes of a torn write at offset \d+ of old: /m)
  t.match(stdout, /^compared: 19 records of the same lengths and data in both \(CRC-32 [\da-f]{8}\)$/m)
  t.match(stdout, /^OFFSETS HAVE CHANGED: views contain offsets, so delete all views of the old log; flumedb rebuilds them\nnew.import-map has the new offsets$/m)
  t.equal((await readLog(name('new'))).length, 19)
})

test('import says that offsets have changed only if one has', async (t) => {
  const name = testFolder(t)
  const seqs = await makeLog(name('old'), Array(20000).fill('a record'))
  const run = async (...args) => {
    const { code, stdout, stderr } = await flumelog(['import', ...args], { cwd: name('.') })
    t.equal(code, 0, stderr)
    return /OFFSETS HAVE CHANGED/.test(stdout)
  }
  t.notOk(await run('old', 'same'), 'a log in the same blocks')
  t.deepEqual((await readLog(name('same'))).map(({ seq }) => seq), seqs)
  t.ok(await run('old', 'smaller', '--block-size', '1024'), 'in smaller blocks')
  t.equal((await flumelog(['del', name('old'), String(seqs[7]), '--yes'])).code, 0)
  t.ok(await run('old', 'less'), 'without a deleted record')
  t.notOk(await run('old', 'kept', '--keep-deleted'), 'with it')
})

test('import says why it stops, and what to do', async (t) => {
  const name = testFolder(t)
  await OLD_LOGS['flumelog-offset-32'].make(name('old'), [Buffer.from('a'), Buffer.alloc(70000, 'large')])
  fs.writeFileSync(name('text'), 'no log\n')
  fs.writeFileSync(name('there'), 'something')
  const cases = [
    [['old', 'new'], /^flumelog: old: the record at offset 13 cannot be stored: it has 70000 bytes; the maximum is 65522, with blocks of 65536; --large stores records of up to 256 MiB; --skip puts such records/],
    [['text', 'new'], /^flumelog: text: not in a format that can be imported; give its format with --from$/m],
    [['old', 'there'], /^flumelog: there: the file exists already; choose another name, or remove it$/m],
    [['missing', 'new'], /^flumelog: missing: no such file; check the name$/m]
  ]
  for (const [args, message] of cases) refuses(t, await flumelog(['import', ...args], { cwd: name('.') }), 1, message, args.join(' '))
  t.deepEqual(filesIn(name('.')), ['old', 'text', 'there'])
  const { code, stdout } = await flumelog(['import', 'old', 'new', '--large'], { cwd: name('.') })
  t.equal(code, 0)
  t.match(stdout, /^1 record is larger than a block: programs that open the log need `large: true`$/m)
  t.equal((await flumelog(['dump', 'new'], { cwd: name('.') })).stdout.length, 'a\n'.length + 70000 + 1)
})

test('an import that is killed, or stopped by Ctrl-C, starts again with the same command', async (t) => {
  const name = testFolder(t)
  offsetFile(name('old'), 200, 60000)
  const run = (env) => flumelog(['import', 'old', 'new'], { cwd: name('.'), ...(env && { preload: [SIGNAL], env }) })

  const stopped = await run({ TEST_SIGNAL: 'SIGINT', TEST_NAME: 'writev', TEST_CALL: '2' })
  t.deepEqual([stopped.code, stopped.stderr], [130, 'flumelog: new: interrupted; nothing is left of it\n'])
  t.deepEqual(filesIn(name('.')), ['old'])

  const killed = await run({ TEST_SIGNAL: 'SIGKILL', TEST_NAME: 'promises.rename', TEST_CALL: '1' })
  t.equal(killed.signal, 'SIGKILL')
  t.ok(fs.existsSync(name('new.importing')))
  t.notOk(fs.existsSync(name('new')))

  const { code, stdout } = await run()
  t.equal(code, 0)
  t.match(stdout, /^compared: 200 records/m)
  t.deepEqual(filesIn(name('.')), ['new', 'new.import-map', 'old'])
})

test('export says which fields no record has', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), ['{"at":1,"by":{"name":"ada"}}', '{"text":""}'])
  const run = (...args) => flumelog(['export', ...args], { cwd: name('.') })
  const missing = await run('log', 'some', '--to', 'csv', '--fields', 'at,bye,by.nam')
  t.deepEqual([missing.code, missing.stderr], [0, 'log: no record exported has `bye` or `by.nam`; check --fields\n'])
  t.equal(fs.readFileSync(name('some'), 'utf8').split('\n')[0], 'at,bye,by.nam')
  t.equal((await run('log', 'all', '--to', 'csv', '--fields', 'text,by.name,at')).stderr, '')
})

test('export writes a file beside the log, or where it is told, and overwrites nothing', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), jsonRecords(100))
  await makeLog(name('text'), ['{}', 'no json'])
  const { code, stdout } = await flumelog(['export', 'log', '--to', 'flumelog-offset'], { cwd: name('.') })
  t.deepEqual([code, stdout], [0, 'log.flumelog-offset: exported 100 records, 7.65 kB, as flumelog-offset\n'])
  t.equal((await OLD_LOGS['flumelog-offset-48'].read(name('log.flumelog-offset'))).length, 100)
  const cases = [
    [['log', '--to', 'flumelog-offset'], /^flumelog: log.flumelog-offset: the file exists already/],
    [['text', '--to', 'ndjson'], /^flumelog: text: the record at offset 6 cannot be exported: it is not JSON: /],
    [['missing', '--to', 'ndjson'], /^flumelog: missing: no such file; check the name$/m]
  ]
  for (const [args, message] of cases) refuses(t, await flumelog(['export', ...args], { cwd: name('.') }), 1, message, args.join(' '))
  const stopped = await flumelog(['export', 'log', 'other', '--to', 'ndjson'], { cwd: name('.'), preload: [SIGNAL], env: { TEST_SIGNAL: 'SIGINT', TEST_NAME: 'handle.write', TEST_CALL: '1' } })
  t.equal(stopped.code, 130)
  t.deepEqual(filesIn(name('.')), ['log', 'log.flumelog-offset', 'text'])
})
