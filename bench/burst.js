'use strict'

// Does throughput hold up in a burst? Issues a number of appends without waiting for any,
// and measures the time until all are stored.

const peers = require('./peers')
const { appendRow } = require('./helpers/rows')

const sizes = {
  quick: [1000, 10000, 100000, 500000],
  full: [1000, 3000, 10000, 30000, 100000, 200000, 300000, 400000, 500000],
  check: [10000, 500000]
}
/** Unsuitable for bursts, and slow at them, as `append` shows. */
const EXCLUDED = ['flumelog-memory', 'better-sqlite3', 'classic-level']

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const measured = peers.filter(({ name }) => !EXCLUDED.includes(name))
  return sizes[size].map(count => ({
    name: `${count.toLocaleString('en')} at once`,
    x: count,
    table: 'appends at once',
    column: count.toLocaleString('en'),
    rounds: size === 'quick' ? 1 : undefined,
    rows: measured.map(peer => appendRow(peer, { count, inFlight: count }))
  }))
}

module.exports = { name: 'burst', question: 'Does throughput hold up in a burst?', groups }
