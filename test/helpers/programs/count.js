'use strict'

// Counts in a shared log, together with others, from the first message on: appends the number after that of the last record, on the condition
// that this one is the last. Each number that is acknowledged is told.

const { setTimeout: pause } = require('timers/promises')
const { argument, tell, listen } = require('../processes')
const { open } = require('../../../promises')

const { file, target, options = {} } = argument()

/** Milliseconds between two looks at the role. */
const INTERVAL = 2
/** Milliseconds between two numbers of a process, at most: the owner is faster than the others, and would count alone. */
const PAUSE = 5

async function main () {
  const log = await open(file, { ...options, shared: true, codec: 'json' })
  let role = null
  const watching = setInterval(() => {
    if (log.role !== role) tell({ what: 'role', role: role = log.role })
  }, INTERVAL)
  tell({ what: 'opened' })
  await started
  let conflicts = 0
  let last = log.since.value
  let number = last === -1 ? 0 : (await log.get(last)).number
  while (number < target) {
    try {
      last = await log.append({ number: number + 1, pid: process.pid }, { after: last })
      tell({ what: 'counted', number: ++number })
      await pause(Math.random() * PAUSE)
    } catch (err) {
      if (err.code !== 'flumelog:conflict') throw err
      conflicts++
      last = err.seq
      number = (await log.get(last)).number
    }
  }
  clearInterval(watching)
  await log.close()
  tell({ what: 'done', conflicts })
  process.exit()
}

const started = new Promise(resolve => listen(resolve))
main().catch((err) => {
  tell({ what: 'failed', code: err.code, message: err.stack })
  process.exit(1)
})
