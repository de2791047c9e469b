'use strict'

// Does the rate fall when everything comes at once? So many appends are made
// without waiting for any; the time ends when all are stored.

const peers = require('./peers')
const { appendRow } = require('./helpers/rows')

const sizes = {
  quick: [1000, 10000, 100000, 500000],
  full: [1000, 3000, 10000, 30000, 100000, 200000, 300000, 400000, 500000],
  check: [10000, 500000]
}
/** Not at any count what somebody would choose for this; and slow at it, which `append` shows. */
const LEFT_OUT = ['flumelog-memory', 'better-sqlite3', 'classic-level']

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const measured = peers.filter(({ name }) => !LEFT_OUT.includes(name))
  return sizes[size].map(count => ({
    name: `${count.toLocaleString('en')} at once`,
    x: count,
    table: 'appends at once',
    column: count.toLocaleString('en'),
    rounds: size === 'quick' ? 1 : undefined,
    rows: measured.map(peer => appendRow(peer, { count, inFlight: count }))
  }))
}

module.exports = { name: 'burst', question: 'Does the rate fall when everything comes at once?', groups }
