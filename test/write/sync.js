'use strict'

// When data is fsynced, and how often.

const tape = require('tape')
const { execFileSync } = require('child_process')
const { ControlledFile } = require('../helpers/controlled-file')
const { testFolder } = require('../helpers/folder')

const MIB = 1024 * 1024

tape("with sync 'always', one sync serves all the appends that gathered", async (t) => {
  const { log, ran } = await open({ sync: 'always' })
  await log.append('the first')
  const before = ran('sync')
  await Promise.all(Array.from({ length: 500 }, (_, i) => log.append(`record ${i}`)))
  t.equal(ran('sync') - before, 1, 'one sync for 500 appends')
  t.equal(log.log.stats().unsynced, 0)
  await log.close()
})

tape("with sync 'always', neither the callback nor since comes before the sync", async (t) => {
  const { log, file } = await open({ sync: 'always' })
  const synced = () => file.durable.equals(file.bytes)
  log.log.since((seq) => { if (seq > -1) t.ok(synced(), `synced when since is ${seq}`) })
  await log.append('one')
  t.ok(synced(), 'synced when the first append is acknowledged')
  await log.append(['two', 'three'])
  t.ok(synced(), 'synced when the batch is acknowledged')
  await log.close()
})

tape("with sync 'interval', a lone append is acknowledged when it is written, and synced in time", async (t) => {
  const { log, file, ran } = await open({ sync: 'interval', syncInterval: 20 })
  await log.append('one')
  t.equal(ran('sync'), 0, 'it was not synced when it was acknowledged')
  const alive = setInterval(() => {}, 1000) // the timer of the log does not keep the process alive
  await new Promise(resolve => { file.ondone = (kind) => { if (kind === 'sync') resolve() } })
  clearInterval(alive)
  t.equal(ran('sync'), 1)
  t.equal(log.log.stats().unsynced, 0, 'now it is')
  const idle = process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
  t.equal(idle, 0, 'an idle log has no timer')
  await log.close()
})

tape("with sync 'interval', never more than syncBytes are unsynced", async (t) => {
  const syncBytes = 3 * MIB
  const { log, file } = await open({ sync: 'interval', syncBytes, syncInterval: 2 ** 31 - 1 })
  let most = 0
  file.ondone = () => { most = Math.max(most, log.log.stats().unsynced) }
  const value = Buffer.alloc(1000, 1)
  await Promise.all(Array.from({ length: 20000 }, () => log.append(value)))
  most = Math.max(most, log.log.stats().unsynced)
  t.ok(most <= syncBytes, `${most} bytes were unsynced, of at most ${syncBytes}`)
  t.ok(most > MIB, 'and writing did not wait for every sync')
  await log.close()
})

tape("with sync 'never', only sync and close do it", async (t) => {
  const { log, ran } = await open({ sync: 'never', syncInterval: 1, syncBytes: 1 })
  for (let i = 0; i < 50; i++) await log.append(Buffer.alloc(1000, 1))
  t.equal(ran('sync'), 0)
  await log.sync()
  t.equal(ran('sync'), 1, 'sync did')
  await log.append('one more')
  await log.close()
  t.equal(ran('sync'), 2, 'close did')
})

tape('an append with sync: true is fsynced before its callback, at every setting', async (t) => {
  for (const sync of ['interval', 'never']) {
    const { log, file, ran } = await open({ sync })
    await log.append('one')
    t.equal(ran('sync'), 0)
    const order = []
    const calls = [
      log.append('two').then(() => order.push(2)),
      log.append('three', { sync: true }).then(() => {
        order.push(3)
        t.ok(file.durable.equals(file.bytes), `${sync}: it is on the disk`)
      }),
      log.append('four').then(() => order.push(4))
    ]
    await Promise.all(calls)
    t.deepEqual(order, [2, 3, 4], 'callbacks come in the order of the calls')
    t.equal(ran('sync'), 1)
    await log.close()
  }
})

tape('an empty batch with sync: true syncs all appends before it', async (t) => {
  const { log, file, ran } = await open({ sync: 'never' })
  await log.append('one')
  await log.append([], { sync: true })
  t.equal(ran('sync'), 1)
  t.ok(file.durable.equals(file.bytes), 'it is on the disk')
  t.deepEqual(await log.append([], { atomic: true }), [])
  await log.close()
})

tape('sync calls back when everything appended so far is fsynced', async (t) => {
  const { log, file } = await open({ sync: 'never' })
  for (let i = 0; i < 100; i++) log.append(Buffer.alloc(5000, 1))
  await log.sync()
  t.equal(log.log.stats().written.records, 100)
  t.ok(file.durable.equals(file.bytes))
  await log.close()
})

tape('deletions that are asked for together share one fdatasync, and one write for records in a row', async (t) => {
  const { log, ran } = await open({ sync: 'always' })
  const seqs = []
  for (let i = 0; i < 200; i++) seqs.push(await log.append(`record ${i}`))
  // the first one is recorded with a recovery point
  await log.del(seqs[0])
  const counts = () => ['write', 'sync', 'metadata.replace', 'metadata.append', 'metadata.sync'].map(ran)
  const before = counts()
  const added = () => counts().map((count, i) => count - before[i])
  await Promise.all(seqs.slice(50, 150).map(seq => log.del(seq)))
  t.deepEqual(added(), [1, 0, 0, 1, 1], '100 deletions')
  await log.del(seqs.slice(150))
  t.deepEqual(added(), [2, 0, 0, 2, 2], 'as an array, too')
  await log.close()
})

tape('a writer that is never closed does not keep its process alive', (t) => {
  const file = testFolder(t)('log')
  const program = `
    const log = require(${JSON.stringify(require.resolve('../..'))})(${JSON.stringify(file)}, { syncInterval: 2 ** 31 - 1 })
    log.append('one', (err) => { if (err) throw err; process.stdout.write('stored') })`
  const output = execFileSync(process.execPath, ['-e', program], { timeout: 30000, encoding: 'utf8' })
  t.equal(output, 'stored', 'it ended by itself')
  t.end()
})

/** A log whose operations are counted. */
async function open (options) {
  const file = new ControlledFile()
  const log = file.open(options)
  await log.onReady()
  // opening may have synced what it read
  file.counts.sync = 0
  return { log, file, ran: (kind) => file.counts[kind] ?? 0 }
}
