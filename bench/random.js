'use strict'

// How fast are gets by offset? Gets of random records of a log that fits into the cache, and
// of one that is ten times as large as the cache. Both are in the page cache.

const peers = require('./peers')
const { getRow } = require('./helpers/rows')

const MIB = 1024 * 1024
const IN_CACHE = { cacheSize: 64 * MIB }

const sizes = {
  quick: { inFlights: [1, 1024], seconds: 0.2, inside: 100000, beyond: 500000, small: { cacheSize: 8 * MIB }, rounds: { 1: 2, 1024: 1 } },
  full: { seconds: 3, inside: 200000, beyond: 4400000, small: { cacheSize: 64 * MIB } },
  check: { seconds: 3, inside: 200000, beyond: 4400000, small: { cacheSize: 64 * MIB } }
}
/** Peers that can get a record by key, and store records in a file. */
const measured = peers.filter(({ name, isVolatile }) => !isVolatile && !['better-sqlite3, grouped', 'JSON lines'].includes(name))

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const { seconds, inside, beyond, small, rounds, inFlights = [1, 16, 1024] } = sizes[size]
  const places = [['in cache', inside, IN_CACHE], ['10x cache size', beyond, small]]
  return places.flatMap(([place, count, options]) => inFlights.map(inFlight => ({
    name: `${place}, ${inFlight} in flight`,
    x: inFlight,
    rounds: rounds?.[inFlight],
    rows: measured.map(peer => getRow(peer, count, { inFlight, seconds }, options))
  })))
}

module.exports = { name: 'random', question: 'How fast are gets by offset?', groups }
