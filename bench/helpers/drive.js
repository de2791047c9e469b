'use strict'

// Issues calls with a limit on calls in flight, and measures them.

/**
 * One call in this many is timed where timing each would distort the result: when calls
 * are answered synchronously, or in large groups.
 */
const SAMPLING = 16

/**
 * @typedef {object} Driven
 * @property {number} count of calls answered
 * @property {number} seconds
 * @property {{ median: number, p99: number, worst: number }} latency from call to callback, in milliseconds
 */

/**
 * @param {object} options
 * @param {number} options.count of calls to make
 * @param {number} options.inFlight limit on unanswered calls
 * @param {number} [options.seconds] stop issuing calls after this time
 * @param {boolean} [options.timeEach] default false: time one in SAMPLING
 * @param {(n: number, cb: (err?: Error | null) => void) => void} call may call back synchronously
 * @param {() => Promise<void>} [whole] awaited before the clock stops
 * @returns {Promise<Driven>}
 */
async function drive ({ count, inFlight, seconds = Infinity, timeEach = false }, call, whole) {
  const latencies = []
  const sampling = timeEach ? 1 : SAMPLING
  const begin = performance.now()
  const deadline = begin + seconds * 1000
  const made = await new Promise((resolve, reject) => {
    let made = 0
    let answered = 0
    let limit = count
    let isCalling = false

    function more () {
      // called synchronously by a call: the loop below continues
      if (isCalling) return
      isCalling = true
      while (made < limit && made - answered < inFlight) {
        call(made, made % sampling === 0 ? timedAnswer(performance.now()) : answer)
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

module.exports = { drive, summary, median }
