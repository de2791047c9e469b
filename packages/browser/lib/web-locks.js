'use strict'

// Web Locks: one that is held ends with its worker, whatever that ends by.

/**
 * @param {string} name
 * @param {{ mode?: 'exclusive' | 'shared', ifAvailable?: boolean, signal?: AbortSignal }} [options]
 * @returns {Promise<(() => void) | null>} releases it; null: another one has it, or `signal` has ended the waiting
 */
function acquire (name, options = {}) {
  return new Promise((resolve, reject) => {
    locks().request(name, options, (/** @type {unknown} */ lock) => {
      if (lock === null) return resolve(null)
      let release = () => {}
      const released = new Promise(resolve => { release = () => resolve(undefined) })
      resolve(release)
      return released
    }).catch((/** @type {any} */ err) => err.name === 'AbortError' ? resolve(null) : reject(err))
  })
}

/**
 * @param {string} name
 * @returns {Promise<boolean>}
 */
async function isHeld (name) {
  const { held } = await locks().query()
  return held.some((/** @type {{ name: string }} */ lock) => lock.name === name)
}

/** @returns {any} */
function locks () {
  return /** @type {any} */ (globalThis).navigator.locks
}

/** @type {Promise<string> | null} */
let own = null

/** @returns {Promise<string>} the name of a lock that this worker holds as long as it lives */
function ownLock () {
  const name = `flumelog worker ${crypto.randomUUID()}`
  return (own ??= acquire(name).then(() => name))
}

/**
 * @param {string} name of a lock that another worker holds as long as it lives
 * @param {() => void} ongone called when it does not live any more
 * @returns {() => void} stops the waiting
 */
function whenGone (name, ongone) {
  const stop = new AbortController()
  acquire(name, { mode: 'shared', signal: stop.signal }).then((release) => {
    release?.()
    if (release !== null && !stop.signal.aborted) ongone()
  }, ongone)
  return () => stop.abort()
}

module.exports = { acquire, isHeld, ownLock, whenGone }
