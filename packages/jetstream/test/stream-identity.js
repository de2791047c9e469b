'use strict'

// Which answers of servers mean that a stream is another one: simulated ones, by a clock of their own.

const test = require('tape')
const { StreamIdentity } = require('../lib/stream-identity')
const { codeOf } = require('../../../test/helpers/reading')

const TIMEOUT = 10_000
const CREATED = '2026-11-27T12:00:00.000000001Z'
const MISSING = Object.assign(new Error('stream not found'), { code: 10059 })

/** @typedef {{ took?: number, last?: number, created?: string, error?: Error }} Answer after some milliseconds */

/**
 * Message 10 of a stream with three replicas is known. Then a server is asked where the stream ends.
 * @param {import('tape').Test} t
 * @param {Answer[]} answers in order; the last one again and again
 * @param {number} [replicas]
 * @returns {Promise<{ end: string | number, asked: number, took: number }>} an error's code, or the last sequence
 */
async function ask (t, answers, replicas = 3) {
  let now = 0
  t.intercept(performance, 'now', { value: () => now, writable: true })
  const connection = { label: 'stream S', settings: { timeout: TIMEOUT }, failure: null, fail (/** @type {any} */ err) { this.failure = err } }
  const identity = new StreamIdentity(/** @type {any} */ (connection))
  identity.open(/** @type {any} */ ({ created: CREATED, config: { num_replicas: replicas } }))
  identity.note({ seq: 10, time: null, subject: null })
  let asked = 0
  /** @returns {Promise<any>} */
  const answer = async () => {
    const { took = 100, last = 10, created = CREATED, error } = answers[Math.min(asked++, answers.length - 1)]
    now += took
    if (error !== undefined) throw error
    return { created, state: { last_seq: last } }
  }
  /** @type {any} */
  const outcome = identity.check(answer)
  const end = await outcome.then((/** @type {any} */ { state }) => state.last_seq, () => codeOf(outcome))
  return { end, asked, took: now }
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
  for (const answer of [{ last: 4 }, { created: '2026-11-27T12:00:01Z' }, { error: MISSING }]) {
    const { end, took } = await ask(t, [{ took: 5000, ...answer }, { took: 500, ...answer }])
    t.equal(end, 'flumelog:replaced')
    t.ok(took >= TIMEOUT)
  }
})

test('a stream without replicas that is shorter is another one at once', async (t) => {
  t.deepEqual(await ask(t, [{ last: 4 }, { last: 12 }], 1), { end: 'flumelog:replaced', asked: 1, took: 100 })
})
