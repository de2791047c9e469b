'use strict'

// What a cursor of a stream keeps in memory, in a process that runs for months. Without a server.

const { EventEmitter } = require('events')
const test = require('tape')
const { DurableCursor } = require('../lib/durable-cursor')

/** A cursor of which the server answers everything at once. */
function fakeCursor () {
  const connection = {
    refusals: new EventEmitter(),
    settings: { stream: 'stream' },
    attempt: async (start) => await start(),
    ask: async () => [],
    nats: { request: async () => ({}) }
  }
  return Object.assign(new DurableCursor({ connection, filename: 'log', refusal: null, whenOpen: () => {} }, 'worker', {}), { seq: -1 })
}

test('of commits that are answered, nothing is kept', async (t) => {
  const cursor = fakeCursor()
  for (let seq = 1; seq <= 3; seq++) {
    cursor.given.push({ seq, reply: `reply.${seq}` })
    cursor.greatest = seq
    await new Promise((resolve, reject) => cursor.commit(seq, {}, err => err ? reject(err) : resolve(null)))
  }
  t.equal(cursor.seq, 3)
  t.equal(await cursor.commits, undefined)
})

test('of records that were given back, nothing is kept', async (t) => {
  const cursor = fakeCursor()
  for (let seq = 1; seq <= 3; seq++) cursor.giveBack([{ seq, reply: `reply.${seq}` }])
  t.equal(await cursor.returns, undefined)
})
