'use strict'

// The program of a process that shares a log whose owner is killed again and again. It appends lock-step while it is a client, and
// nothing while it is the owner.

const shared = require('../shared')
const { distinctRecords } = require('./records')
const { participate } = require('./participant')

participate(async ({ folder }) => {
  const { log, close } = await shared.ours.join(folder)
  const [record] = distinctRecords()
  /** What is to be done instead of the next append. @type {(() => void) | null} */
  let instead = null
  let isAppending = false
  append()

  function append () {
    isAppending = true
    log.append(record, (err) => {
      if (err) throw err
      isAppending = false
      next()
    })
  }

  function next () {
    if (instead !== null) {
      const run = instead
      instead = null
      run()
    } else if (log.role === 'client') append()
  }

  /** @returns {Promise<void>} resolves when no append is in flight; the next one is made by `next` */
  function idle () {
    return new Promise(resolve => {
      instead = resolve
      if (!isAppending) next()
    })
  }

  return async ({ kill, close: isLast }) => {
    await idle()
    if (isLast) return close()
    const begin = performance.now()
    if (kill !== undefined) process.kill(kill, 'SIGKILL')
    // made after the signal, so only another owner can acknowledge it
    await new Promise((resolve, reject) => log.append(record, (err) => err ? reject(err) : resolve(undefined)))
    const milliseconds = performance.now() - begin
    next()
    return { milliseconds, role: log.role }
  }
})
