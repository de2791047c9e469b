'use strict'

// How fast do several processes append to one log? Clients of a shared log, and as many processes that write one database; and how long
// it takes until a client is acknowledged again when the owner is killed.

const shared = require('./shared')
const { timeWriters } = require('./helpers/writing')
const { timeTakeovers } = require('./helpers/takeovers')

const sizes = {
  quick: { seconds: 0.4, clients: [1, 3, 8], takeovers: 10 },
  full: { seconds: 1, clients: [1, 3, 8], takeovers: 100, rounds: 2 }
}

/** @type {Array<{ name: string, store: keyof typeof shared, way: string, hasOwner: boolean, options?: object, note?: string }>} */
const loads = [
  { name: 'shared log, lock-step', store: 'ours', way: 'lock-step', hasOwner: true, note: 'each client has one append in flight' },
  {
    name: 'shared log, one record per message',
    store: 'ours',
    way: 'one per message',
    hasOwner: true,
    note: 'each append is made in a turn of its own, up to 1024 in flight; the owner may still acknowledge several at once'
  },
  { name: 'shared log, gathered', store: 'ours', way: 'gathered', hasOwner: true, note: 'each client has up to 1024 appends in flight' },
  { name: 'better-sqlite3, 1 per transaction', store: 'sqlite', way: 'lock-step', hasOwner: false },
  { name: 'better-sqlite3, 100 per transaction', store: 'sqlite', way: 'batches', hasOwner: false },
  { name: 'lmdb, 1 per transaction', store: 'lmdb', way: 'lock-step', hasOwner: false },
  { name: 'lmdb, 100 per transaction', store: 'lmdb', way: 'batches', hasOwner: false },
  { name: 'rave-level, put', store: 'rave', way: 'lock-step', hasOwner: false, note: 'lock-step; one of the processes is the leader, and writes the database itself' },
  { name: 'rave-level, put, idle leader', store: 'rave', way: 'lock-step', hasOwner: true, note: 'lock-step; the leader is a process besides those that write, as the owner of the log is' },
  { name: 'rave-level, batches of 100', store: 'rave', way: 'batches', hasOwner: false, note: 'lock-step; one of the processes is the leader' },
  { name: 'bare loop, lock-step', store: 'bare', way: 'lock-step', hasOwner: true },
  {
    name: 'bare loop, one acknowledgement per message',
    store: 'bare',
    way: 'one per message',
    hasOwner: true,
    options: { gathers: false },
    note: 'one record per message, each acknowledged by a message of its own'
  },
  { name: 'bare loop', store: 'bare', way: 'gathered', hasOwner: true }
]

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const { seconds, clients, takeovers, rounds } = sizes[size]
  return [
    ...clients.map(writers => ({
      name: writers === 1 ? '1 client' : `${writers} clients`,
      x: writers,
      table: 'processes that write',
      column: String(writers),
      rounds,
      rows: loads.map(({ name, note, ...load }) => ({
        name,
        note: note ?? shared[load.store].note,
        run: async ({ scratch }) => ({ phase: 'cold', ...await timeWriters({ ...load, writers, seconds }, scratch) })
      }))
    })),
    {
      name: 'from SIGKILL of the owner to the next acknowledgement',
      rounds: 1,
      rows: [{
        name: 'takeover',
        note: 'of a client that appends lock-step, one of two; in parentheses, how often it was so',
        run: async ({ scratch }) => (await timeTakeovers(scratch, takeovers)).map(measure => ({ phase: 'cold', ...measure }))
      }]
    }
  ]
}

module.exports = { name: 'clients', question: 'How fast do several processes append to one log?', groups }
