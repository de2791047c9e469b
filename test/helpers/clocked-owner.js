'use strict'

// The owner of a shared log in this process, with a clock that a test can set forward.

const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { pathFile } = require('../../lib/storage/path-file')
const { ShiftedClock } = require('./shifted-clock')
const { testFolder } = require('./folder')
const { promises } = require('./promises')

const BLOCK_SIZE = 4096

/**
 * @param {import('tape').Test} t when it ends, the owner is closed
 * @param {{ steps?: (made: any) => any, waits?: boolean, options?: any }} [settings] steps: calls of its file that replace those of the
 *   real one. waits: until the log is open
 */
async function openOwner (t, { steps = () => ({}), waits = true, options = {} } = {}) {
  // before the folder goes
  t.teardown(() => owner.close())
  const file = testFolder(t)('log')
  const settings = settingsOf({ blockSize: BLOCK_SIZE, shared: true, ...options })
  const clock = new ShiftedClock()
  const made = pathFile(file, { ...settings, lock: false })
  const owner = promises(createLog(Object.assign(made, steps({ ...made })), settings, clock))
  if (waits) await owner.onReady()
  return { file, owner, clock, stats: () => owner.log.stats() }
}

/** An opening that waits, with the log's file open, until it is released: `steps` is for `openOwner`. */
function holdOpening () {
  let release = () => {}
  const released = new Promise(resolve => { release = () => resolve(null) })
  const opening = {
    isAsked: false,
    release,
    steps: (/** @type {any} */ { io }) => ({
      io: {
        ...io,
        size: async () => {
          opening.isAsked = true
          await released
          return io.size()
        }
      }
    })
  }
  return opening
}

/** Writes of the owner that wait until they are released: `steps` is for `openOwner`. */
function holdWrites () {
  /** @type {Array<() => void> | null} */
  let held = []
  const hold = (/** @type {(...args: any[]) => void} */ call) => (/** @type {any[]} */ ...args) => held === null ? call(...args) : held.push(() => call(...args))
  return {
    steps: (/** @type {any} */ { write, writeMany }) => ({ write: hold(write), writeMany: hold(writeMany) }),
    release () {
      const calls = held ?? []
      held = null
      for (const call of calls) call()
    }
  }
}

module.exports = { BLOCK_SIZE, holdOpening, holdWrites, openOwner }
