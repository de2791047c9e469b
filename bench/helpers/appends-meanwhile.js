'use strict'

// How long something takes, and how long appends wait meanwhile.

/** Milliseconds between appends. */
const PAUSE = 1

/**
 * @param {() => Promise<unknown>} run
 * @returns {Promise<{ seconds: number }>}
 */
async function timed (run) {
  const begin = performance.now()
  await run()
  return { seconds: (performance.now() - begin) / 1000 }
}

/**
 * @param {{ append: (record: Buffer) => Promise<unknown> }} log
 * @param {Buffer} record that is appended again and again, until `run` has ended
 * @param {() => Promise<unknown>} run
 * @returns {Promise<{ seconds: number, longest: number }>} longest: milliseconds that an append took
 */
async function timedWithAppends (log, record, run) {
  const state = { isOver: false, longest: 0 }
  const append = async () => {
    while (!state.isOver) {
      const begin = performance.now()
      await log.append(record)
      state.longest = Math.max(state.longest, performance.now() - begin)
      await new Promise(resolve => setTimeout(resolve, PAUSE))
    }
  }
  const appending = append()
  const { seconds } = await timed(run)
  state.isOver = true
  await appending
  return { seconds, longest: state.longest }
}

module.exports = { timed, timedWithAppends }
