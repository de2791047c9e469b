'use strict'

// Gets of records drawn over the whole log, while all of it is in the cache, and
// when it is ten times larger than the cache. The operating system has all of it
// in memory either way.

const peers = require('./peers')
const { getRow } = require('./helpers/rows')

const MIB = 1024 * 1024
const IN_CACHE = { cacheSize: 64 * MIB }

const sizes = {
  quick: { inFlights: [1, 1024], seconds: 0.2, inside: 100000, beyond: 500000, small: { cacheSize: 8 * MIB }, rounds: { 1: 2, 1024: 1 } },
  full: { seconds: 3, inside: 200000, beyond: 4400000, small: { cacheSize: 64 * MIB } },
  check: { seconds: 3, inside: 200000, beyond: 4400000, small: { cacheSize: 64 * MIB } }
}
/** Those that find a record by its key, and have the records in a file. */
const measured = peers.filter(({ name, isVolatile }) => !isVolatile && !['better-sqlite3, grouped', 'JSON lines'].includes(name))

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const { seconds, inside, beyond, small, rounds, inFlights = [1, 16, 1024] } = sizes[size]
  const places = [['inside the cache', inside, IN_CACHE], ['ten times beyond the cache', beyond, small]]
  return places.flatMap(([place, count, options]) => inFlights.map(inFlight => ({
    name: `${place}, ${inFlight} in flight`,
    x: inFlight,
    rounds: rounds?.[inFlight],
    rows: measured.map(peer => getRow(peer, count, { inFlight, seconds }, options))
  })))
}

module.exports = { name: 'random', question: 'How fast is a record found by its offset?', groups }
