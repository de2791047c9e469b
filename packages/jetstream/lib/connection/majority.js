'use strict'

// Whether what a server says of a stream is known to a majority of the stream's servers.

/** Nanoseconds: less than the 4 s after which servers that do not hear of their leader elect another one, and more than its heartbeat, every second. */
const MAX_SILENCE = 3e9

/**
 * A leader that is cut off, or that has hung, still takes itself for the leader for a moment, and all others for current, although it has
 * not heard of them for long. When it hears of the new leader, it may answer once more, and has that one among the others.
 * @param {Pick<import('@nats-io/jetstream').StreamInfo, 'config' | 'cluster'>} info
 * @returns {boolean}
 */
function hasMajority ({ config: { num_replicas: replicas }, cluster }) {
  if (replicas === 1) return true
  const { leader, replicas: others = [] } = cluster ?? {}
  if (!leader || others.some(({ name }) => name === leader)) return false
  return others.filter(({ active }) => active > 0 && active < MAX_SILENCE).length >= Math.floor(replicas / 2)
}

module.exports = { hasMajority }
