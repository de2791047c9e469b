'use strict'

// What the owner of a shared log writes into FILE.meta of its clients, and what the next owner makes of it. No files.

const tape = require('tape')
const { KnownClients } = require('../../lib/sharing/known-clients')
const { apply } = require('../../lib/storage/metadata-text')

/** A FILE.meta in memory. */
function metadataFile () {
  const metadata = /** @type {any} */ ({ clients: {}, deletions: [] })
  return { metadata, append: (entry) => apply(metadata, JSON.parse(JSON.stringify(entry))) }
}

const clientsOf = (file) => new KnownClients(/** @type {any} */ (file), /** @type {any} */ ({ now: () => 0 }))

/** A client of which two frames are stored, and two with the writer. */
function withRuns () {
  const file = metadataFile()
  const clients = clientsOf(file)
  const { client } = clients.welcome({ id: 'a', answered: 0, log: '0', pid: 1 })
  const runs = [[1, 2, 0, 20], [3, 1, 20, 30], [4, 1, 30, 40], [5, 3, 40, 70]]
  for (const [first, count, seq, end] of runs) clients.addRun(client, { first, count, seq, end })
  client.addStored()
  client.addStored()
  clients.flush()
  return { file, clients, client, runs }
}

tape('the next owner knows the runs that end in the log, and no others', (t) => {
  const { file, runs } = withRuns()
  t.deepEqual(file.metadata.clients, { a: runs }, 'those that are with the writer are there before they are written')
  for (const [end, count] of [[0, 0], [19, 0], [20, 1], [69, 3], [70, 4]]) {
    const next = clientsOf(file)
    next.load(end)
    const { client, isUnknown } = next.welcome({ id: 'a', answered: 0, log: '0', pid: 1 })
    t.deepEqual([isUnknown, client.runs.length, client.stored], [false, count, [0, 2, 3, 4, 7][count]], `end ${end}`)
  }
  t.end()
})

tape('what a client has heard of is not told again', (t) => {
  const { clients, client } = withRuns()
  client.forget(1)
  t.equal(client.runs.length, 2, 'a run counts as a whole')
  t.deepEqual(clients.welcome({ id: 'a', answered: 2, log: '0', pid: 1 }).client.runs.map(({ first }) => first), [3])
  t.end()
})

tape('after a failed write, FILE.meta does not have what was with the writer', (t) => {
  const { file, clients, runs } = withRuns()
  clients.rollBack(30)
  clients.flush()
  t.deepEqual(file.metadata.clients, { a: runs.slice(0, 2) })
  t.end()
})

tape('a failed write does not take what an earlier one has stored, though its client has not been told yet', (t) => {
  const { file, clients, client, runs } = withRuns()
  clients.rollBack(40)
  clients.flush()
  t.deepEqual(file.metadata.clients, { a: runs.slice(0, 3) })
  client.addStored()
  t.equal(client.stored, 4)
  t.end()
})

tape('a compaction moves what is not acknowledged, and keeps the other runs where they were', (t) => {
  const { file, clients, runs } = withRuns()
  t.deepEqual(clients.list(30), { a: runs.slice(0, 2) }, 'of the other file, before it has the rest')
  clients.moved(30, 1000)
  clients.flush()
  t.deepEqual(file.metadata.clients, { a: [...runs.slice(0, 2), [4, 1, 1030, 1040], [5, 3, 1040, 1070]] })
  t.end()
})

tape('a client that says that it leaves is dropped from FILE.meta', (t) => {
  const { file, clients, client } = withRuns()
  client.isLeaving = true
  clients.leave(client)
  clients.flush()
  t.deepEqual(file.metadata.clients, {})
  t.end()
})
