'use strict'

// A client may find the file of a compaction before its owner goes on in it: while the owner fsyncs the directory. Run on a simulated machine,
// so that it always does.

const tape = require('tape')
const { settled, until } = require('../helpers/simulator/settled')
const { World } = require('../helpers/simulator/world')

const OPTIONS = { blockSize: 64, shared: true, sync: 'never', timeout: 20_000 }

/** @returns {Promise<{ world: World, client: any, compacted: Promise<any>, seqs: number[] }>} seqs: as the client knows them, which has followed the compaction of the owner, which has not ended */
async function followed () {
  const world = new World(1)
  const latency = world.latency.bind(world)
  let isSlow = false
  // of the directory
  world.fault = (process, name) => {
    if (name === 'fsync' || name === 'fdatasync') isSlow = name === 'fsync'
    return null
  }
  world.latency = (kind) => kind === 'fsync' && isSlow ? 1000 : latency(kind)
  const open = (process) => settled(world, process.require('./promises').open('/log', OPTIONS))
  const owner = await open(world.start())
  const process = world.start()
  const client = await open(process)
  for (let i = 0; i < 8; i++) await settled(world, owner.append(`${i}`.padEnd(20)))
  // otherwise there is nothing to compact
  await settled(world, owner.del((await seqsOf(world, owner))[0]))
  await settled(world, client.append('last'))
  const { id } = client.flumelog
  // it looks at the file when it goes on
  process.stop()
  await settled(world, owner.append('more'))
  const file = world.disk.find('/log', 'stat')
  const compacted = owner.compact()
  await until(world, () => world.disk.find('/log', 'stat') !== file)
  process.continue()
  await until(world, () => client.flumelog.id !== id)
  if (owner.flumelog.id !== id) throw new Error('the owner goes on in the new file already')
  return { world, client, compacted, seqs: await seqsOf(world, client) }
}

async function seqsOf (world, log) {
  return (await settled(world, collect(log))).map(({ seq }) => seq)
}

async function collect (log) {
  const records = []
  for await (const record of log.stream()) records.push(record)
  return records
}

tape('a client that has followed a compaction before its owner deletes what it means', async (t) => {
  const { world, client, compacted, seqs } = await followed()
  await settled(world, client.del({ gte: seqs[1], lte: seqs[2] }))
  t.deepEqual(await seqsOf(world, client), [seqs[0], ...seqs.slice(3)])
  await settled(world, client.del(seqs[3]))
  t.deepEqual(await seqsOf(world, client), [seqs[0], ...seqs.slice(4)])
  await settled(world, compacted)
})

tape('a client that has followed a compaction before its owner trims no more than it means', async (t) => {
  const { world, client, compacted, seqs } = await followed()
  await settled(world, client.trim({ lt: seqs[2] }))
  const left = await seqsOf(world, client)
  t.deepEqual(left, seqs.slice(-left.length))
  t.ok(left.includes(seqs[2]))
  await settled(world, compacted)
})

tape('a client that has followed a compaction before its owner appends if its condition holds', async (t) => {
  const { world, client, compacted, seqs } = await followed()
  const seq = await settled(world, client.append('next', { after: seqs.at(-1) }))
  t.deepEqual(await seqsOf(world, client), [...seqs, seq])
  await settled(world, compacted)
})
