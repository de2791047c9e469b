'use strict'

// Measures what clients notice when the owner of their log is killed.

const fs = require('fs')
const path = require('path')
const { Participant } = require('./participant')
const { summary } = require('./drive')

const PROGRAM = path.join(__dirname, 'survivor.js')
const PROCESSES = 3

/**
 * Three processes share a log: the owner, and two clients, which append lock-step. One of these kills the owner, between an
 * acknowledgement and its next append, and measures the time until that append is acknowledged. Either of the two may become
 * the owner. Then another process joins, and when all are acknowledged again, it is the turn of the next owner.
 * @param {string} scratch
 * @param {number} count of owners to kill
 * @returns {Promise<object[]>} measurements of all, of those in which the client that measured became the owner, and of the others
 */
async function timeTakeovers (scratch, count) {
  const folder = path.join(scratch, 'store')
  fs.mkdirSync(folder)
  /** In the order in which they were started. @type {Participant[]} */
  let running = []
  const join = async () => {
    const joining = new Participant(PROGRAM, { folder })
    running.push(joining)
    await joining.ready
  }
  try {
    while (running.length < PROCESSES) await join()
    const times = []
    while (times.length < count) {
      // each of them answers when it is acknowledged
      const roles = await Promise.all(running.map(one => one.ask({})))
      const owners = running.filter((_, i) => roles[i].role === 'owner')
      if (owners.length !== 1) throw new Error(`expected one owner, found ${owners.length}`)
      const [owner] = owners
      const measuring = running.find(one => one !== owner)
      times.push(await measuring.ask({ kill: owner.child.pid }))
      await owner.exited
      running = running.filter(one => one !== owner)
      await join()
    }
    const own = times.filter(({ role }) => role === 'owner')
    const others = times.filter(({ role }) => role === 'client')
    return [
      ...measure('all', times),
      ...measure(`it takes over itself (${own.length})`, own),
      ...measure(`another process takes over (${others.length})`, others)
    ]
  } finally {
    for (const one of running) await one.kill()
  }
}

/**
 * @param {string} part
 * @param {Array<{ milliseconds: number }>} times
 * @returns {object[]} nothing if there are no times
 */
function measure (part, times) {
  if (times.length === 0) return []
  const latency = summary(times.map(({ milliseconds }) => milliseconds))
  return [{ part, milliseconds: latency.median, latency }]
}

module.exports = { timeTakeovers }
