'use strict'

// How fast are appends with a limit on calls not yet acknowledged? One record per call; and what options cost.

const peers = require('./peers')
const ours = require('./peers/ours')
const { appendRow } = require('./helpers/rows')

const COUNT = 1e6

const sizes = {
  quick: { seconds: 0.15 },
  full: { seconds: 0.6 }
}

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const { seconds } = sizes[size]
  const synced = peers.filter(({ canSync }) => canSync)
  return [
    ...[1, 16, 1024].map(inFlight => ({
      name: `${inFlight} in flight`,
      x: inFlight,
      rows: peers.map(peer => appendRow(peer, { count: COUNT, inFlight, seconds }))
    })),
    ...[1, 1024].map(inFlight => ({
      name: `synced append, ${inFlight} in flight`,
      x: inFlight,
      rows: synced.map(peer => appendRow(peer, { count: COUNT, inFlight, seconds }, { sync: true }))
    })),
    {
      name: 'cost of options, 1024 in flight',
      rows: [{}, { checksum: false }, { sync: 'never' }, { lock: false }].map(options => ({
        ...appendRow(ours, { count: COUNT, inFlight: 1024, seconds }, options),
        name: describeOptions(options)
      }))
    }
  ]
}

/** @param {object} options */
function describeOptions (options) {
  return Object.entries(options).map(([name, value]) => `${name}: ${value}`).join(', ') || 'defaults'
}

module.exports = { name: 'append', question: 'How fast are appends with a limit on calls in flight?', groups }
