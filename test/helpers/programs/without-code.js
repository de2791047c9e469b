'use strict'

// Opens logs, and uses all of their members when no module can be loaded any more, as after `setuid` with a folder of code that the new
// user may not read. Prints the name of each call that failed, with its error.

const Module = require('module')
const { wrap } = require('../../../promises')
const FlumeLog = require('../../..')

const { file } = JSON.parse(process.argv[2])
const load = Module._load

main().then(() => console.log(JSON.stringify({ done: true })))

async function main () {
  await use('plain', wrap(FlumeLog(`${file}-plain`, { blockSize: 512 })))
  await use('large', wrap(FlumeLog(`${file}-large`, { blockSize: 512, large: true, retain: { bytes: 100_000 } })))
  await use('shared', wrap(FlumeLog(`${file}-shared`, { blockSize: 512, shared: true })))
}

async function use (kind, log) {
  await log.ready()
  const reader = wrap(FlumeLog(`${file}-${kind}`, { readOnly: true, large: kind === 'large' }))
  const client = kind === 'shared' ? wrap(FlumeLog(`${file}-${kind}`, { blockSize: 512, shared: true })) : null
  await reader.ready()
  await client?.ready()
  // what is built into the runtime is always there
  Module._load = (id, ...rest) => {
    if (Module.isBuiltin(id)) return load(id, ...rest)
    throw Object.assign(new Error(`Cannot find module '${id}'`), { code: 'MODULE_NOT_FOUND' })
  }
  try {
    for (const one of [log, client ?? log]) await callAll(kind, one, reader)
  } finally {
    Module._load = load
  }
  await client?.close()
  await reader.close()
  await log.close()
}

async function callAll (kind, log, reader) {
  const call = async (name, run) => {
    try {
      return await run()
    } catch (err) {
      console.log(JSON.stringify({ failed: `${kind}: ${name}`, error: err.stack }))
    }
  }
  const list = async (stream) => { for await (const record of stream) if (record === null) return }
  let seqs = []
  await call('append', async () => {
    for (let n = 0; n < 100; n++) seqs.push(await log.append(`record ${n}`))
    await log.append(['a', 'b'], { atomic: true })
    if (kind === 'large') await log.append('x'.repeat(5000))
  })
  await call('appendFrom', () => log.appendFrom(['c', 'd']))
  await call('get', () => log.get(seqs[0]))
  await call('getPrevious', () => log.getPrevious(seqs[3]))
  await call('search', () => log.search(value => String(value) < 'record 5' ? -1 : 1))
  await call('scan', () => log.scan({}, () => {}))
  for (const options of [{}, { reverse: true }, { deleted: true }]) {
    await call('stream', () => list(log.stream(options)))
    await call('batches', () => list(log.batches(options)))
    await call('stream of a reader', () => list(reader.stream(options)))
  }
  await call('del', () => log.del(seqs[1]))
  await call('del of a range', () => log.del({ gte: seqs[10], lte: seqs[60] }))
  await call('sync', () => log.sync())
  await call('cursor', async () => {
    const cursor = log.cursor(`${kind}-${seqs[0]}`)
    for await (const { seq } of cursor.stream({ limit: 3 })) await cursor.commit(seq, { sync: true })
    await log.cursors()
    await cursor.close()
  })
  await call('backup', () => log.backup(`${file}-${kind}-backup-${seqs[0]}`))
  await call('a second backup', () => log.backup(`${file}-${kind}-backup-${seqs[0]}`))
  await call('compact', () => log.compact())
  await call('get in a reader, after a compaction', async () => {
    seqs = [await log.append('after')]
    for await (const { value } of reader.stream({ live: true })) if (String(value) === 'after') break
  })
  await call('openOffsetMap', async () => (await log.openOffsetMap?.())?.close())
  await call('trim', () => log.trim({ lt: seqs[0] }))
  await call('stats', () => log.stats())
}
