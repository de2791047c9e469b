'use strict'

// Which answers of servers mean that a stream is another one: simulated ones, by a clock of their own.

const test = require('tape')
const { Connection } = require('../lib/connection/connection')
const { StreamIdentity, Behind } = require('../lib/connection/stream-identity')
const { codeOf } = require('../../../test/helpers/reading')

const TIMEOUT = 10_000
const CREATED = '2026-11-27T12:00:00.000000001Z'
const MISSING = Object.assign(new Error('stream not found'), { code: 10059 })

/** @typedef {{ took?: number, last?: number, created?: string, error?: Error, has?: number }} Answer of the leader after some milliseconds; `has`: the last message of the server of this connection */

/**
 * Message 10 of a stream with three replicas is known. Then a server is asked where the stream ends, for as long as it takes.
 * @param {import('tape').Test} t
 * @param {Answer[]} answers in order; the last one again and again
 * @param {number} [replicas]
 * @returns {Promise<{ end: string | number, asked: number, took: number, left: number }>} an error's code, or the last sequence; how often another server was tried
 */
async function ask (t, answers, replicas = 3) {
  let [now, asked, left] = [0, 0, 0]
  t.intercept(performance, 'now', { value: () => now, writable: true })
  const answer = () => answers[Math.min(asked, answers.length) - 1]
  const connection = {
    label: 'stream S',
    settings: { stream: 'S', timeout: TIMEOUT },
    fail () {},
    leave () { left++ },
    async streamInfo () {
      asked++
      const { took = 100, last = 10, created = CREATED, error } = answer()
      now += took
      if (error !== undefined) throw error
      return { created, state: { last_seq: last } }
    },
    manager: { direct: { getMessage: async (/** @type {string} */ stream, /** @type {{ seq: number }} */ { seq }) => seq <= (answer().has ?? 0) ? { seq, time: new Date(5), subject: 'S.a' } : null } }
  }
  const identity = new StreamIdentity(/** @type {any} */ (connection))
  identity.open(/** @type {any} */ ({ created: CREATED, config: { num_replicas: replicas } }))
  identity.note({ seq: 10, time: 5, subject: 'S.a' })
  for (;;) {
    try {
      return { end: (await identity.info()).state.last_seq, asked, took: now, left }
    } catch (err) {
      if (!(err instanceof Behind)) return { end: /** @type {any} */ (err).code, asked, took: now, left }
    }
  }
}

test('a leader that has to catch up is asked again', async (t) => {
  t.equal((await ask(t, [{ last: 4 }, { last: 4 }, { last: 12 }])).end, 12)
  t.equal((await ask(t, [{ error: MISSING }, { last: 12 }])).end, 12, 'or that does not know the stream yet')
})

test('also after an outage that took longer than the timeout', async (t) => {
  t.equal((await ask(t, [{ took: 3 * TIMEOUT, last: 4 }, { last: 12 }])).end, 12)
  t.equal((await ask(t, [{ last: 4 }, { took: 3 * TIMEOUT, last: 4 }, { last: 4 }, { last: 12 }])).end, 12, 'and in the midst of which it began')
})

test('a stream that stays shorter, or another one, for as long as the timeout is another one', async (t) => {
  for (const answer of [{ last: 4 }, { created: '2026-11-27T12:00:01Z', has: 10 }, { error: MISSING }]) {
    const { end, took, left } = await ask(t, [{ took: 5000, ...answer }, { took: 500, ...answer }])
    t.equal(end, 'flumelog:replaced')
    t.ok(took >= TIMEOUT)
    t.equal(left, 3, 'other servers were asked meanwhile')
  }
})

test('a leader that cannot store what another server has is asked until it can', async (t) => {
  const stuck = { took: 1000, last: 4, has: 10 }
  const { end, took } = await ask(t, [...Array(60).fill(stuck), { last: 12 }])
  t.equal(end, 12)
  t.ok(took > 5 * TIMEOUT)
  // this connection is one to the leader, until it is left
  const own = { took: 1000, last: 4, has: 4 }
  t.equal((await ask(t, [...Array(4).fill([own, own, own, stuck]).flat(), { last: 12 }])).end, 12)
})

test('a stream without replicas that is shorter is another one at once', async (t) => {
  t.deepEqual(await ask(t, [{ last: 4 }, { last: 12 }], 1), { end: 'flumelog:replaced', asked: 1, took: 100, left: 0 })
})

test('that there is no such stream means the same whatever was asked for', async (t) => {
  const connection = new Connection(/** @type {any} */ ({ timeout: TIMEOUT }), 'stream S')
  connection.isConnected = true
  connection.identity.open(/** @type {any} */ ({ created: CREATED, config: { num_replicas: 1 } }))
  const missing = Object.assign(new Error('stream not found'), { name: 'StreamNotFoundError', code: 10059 })
  t.equal(await codeOf(connection.ask(() => Promise.reject(missing))), 'flumelog:replaced')
  t.equal(await codeOf(connection.ask(async () => 1)), 'flumelog:replaced', 'and nothing is asked any more')
})
