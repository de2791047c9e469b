'use strict'

// Makes many calls, so many at a time, and measures them.

/**
 * One call in so many is timed, where to time each would cost too much: those that
 * are answered at once, and those that are answered in large groups.
 */
const SAMPLED = 16

/**
 * @typedef {object} Driven
 * @property {number} count calls that were answered
 * @property {number} seconds
 * @property {{ median: number, p99: number, worst: number }} latency from the call to its answer, in milliseconds
 */

/**
 * @param {object} options
 * @param {number} options.count how many calls to make
 * @param {number} options.inFlight how many at most wait for their answer
 * @param {number} [options.seconds] make no further ones after this time
 * @param {boolean} [options.timeEach] default false: one in SAMPLED
 * @param {(n: number, cb: (err?: Error | null) => void) => void} call may answer at once
 * @param {() => Promise<void>} [whole] what else to wait for before it counts as done
 * @returns {Promise<Driven>}
 */
async function drive ({ count, inFlight, seconds = Infinity, timeEach = false }, call, whole) {
  const latencies = []
  const sampled = timeEach ? 1 : SAMPLED
  const begin = performance.now()
  const deadline = begin + seconds * 1000
  const made = await new Promise((resolve, reject) => {
    let made = 0
    let answered = 0
    let limit = count
    let isCalling = false

    function more () {
      // a call that is answered at once comes back here: the loop below goes on
      if (isCalling) return
      isCalling = true
      while (made < limit && made - answered < inFlight) {
        call(made, made % sampled === 0 ? timedAnswer(performance.now()) : answer)
        made++
      }
      isCalling = false
    }

    function answer (err) {
      if (err) return reject(err)
      if (++answered === limit) return resolve(limit)
      if (made < limit) more()
    }

    function timedAnswer (called) {
      return (err) => {
        const now = performance.now()
        latencies.push(now - called)
        if (now > deadline) limit = Math.min(limit, Math.max(made, answered + 1))
        answer(err)
      }
    }

    more()
  })
  if (whole) await whole()
  return { count: made, seconds: (performance.now() - begin) / 1000, latency: summary(latencies) }
}

/** @param {number[]} values */
function summary (values) {
  const sorted = Float64Array.from(values).sort()
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]
  return { median: at(0.5), p99: at(0.99), worst: sorted[sorted.length - 1] }
}

/** @param {number[]} values */
function median (values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

module.exports = { drive, median }
