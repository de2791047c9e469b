'use strict'

// When a client gives up waiting for an owner that says nothing, though its own timers run late. Time passes only as the tests say.

const tape = require('tape')
const { Silence } = require('../../lib/sharing/silence')
const { ShiftedClock } = require('../helpers/shifted-clock')

const TIMEOUT = 100

function watched () {
  const clock = new ShiftedClock()
  clock.stop()
  let timeouts = 0
  const silence = new Silence(clock, TIMEOUT, { onquiet () {}, ontimeout () { timeouts++ } })
  silence.watch(true)
  /** @param {number} milliseconds after which this process runs again, with what it hears then */
  const later = (milliseconds, hear = () => {}) => {
    clock.advance(milliseconds)
    hear()
    return new Promise(resolve => setImmediate(resolve))
  }
  return { clock, silence, later, timeouts: () => timeouts }
}

tape('an owner that says nothing is noticed by a process whose timers are always late', async (t) => {
  const { silence, later, timeouts } = watched()
  for (let turns = 0; turns < 5; turns++) await later(TIMEOUT * 0.6)
  t.equal(timeouts(), 1)
  silence.watch(false)
})

tape('what the owner has said while this process was stopped is heard first', async (t) => {
  const { silence, later, timeouts } = watched()
  for (let turns = 0; turns < 3; turns++) await later(TIMEOUT / 4)
  await later(TIMEOUT * 1000, () => silence.heard())
  t.equal(timeouts(), 0)
  silence.watch(false)
})

tape('the time for which this process was stopped is not waited for once more', async (t) => {
  const { clock, silence, later, timeouts } = watched()
  clock.shift += TIMEOUT * 1000
  silence.heard()
  for (let turns = 0; turns < 6; turns++) await later(TIMEOUT / 4)
  t.equal(timeouts(), 1)
  silence.watch(false)
})

tape('nobody is told that the owner is silent once no call waits', async (t) => {
  const { silence, later, timeouts } = watched()
  await later(TIMEOUT * 1.2, () => silence.watch(false))
  await later(TIMEOUT * 2)
  for (let turns = 0; turns < 3; turns++) await later(TIMEOUT / 4)
  t.equal(timeouts(), 0)
})
