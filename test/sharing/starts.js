'use strict'

// Two processes that open a log at the same instant: one is the owner, the other its client.

const tape = require('tape')
const { testFolder } = require('../helpers/folder')
const { start } = require('../helpers/processes')
const { inTime, numbersIn, upTo } = require('../helpers/sharing')
const { thorough } = require('../helpers/thorough')

const TIMES = Number(process.env.RUNS ?? (thorough ? 200 : 15))
/** Logs that are opened at once; the processes take them in opposite orders. */
const LOGS = 10
/** Milliseconds until they begin: until then, both have got the message. */
const DELAY = 5

tape(`of two processes that open a log at the same instant, one is the owner, ${TIMES} times`, async (t) => {
  const folder = testFolder(t)
  const programs = [start(t, 'open-at-once.js', {}), start(t, 'open-at-once.js', {})]
  await Promise.all(programs.map(program => program.message(({ what }) => what === 'started')))
  const problems = []
  let times = 0
  let owned = 0
  while (times < TIMES && problems.length === 0) {
    // every other time, the logs are there already; their owners are gone
    const isNew = times / LOGS % 2 === 0
    const first = times - (isNew ? 0 : LOGS)
    const files = Array.from({ length: LOGS }, (_, i) => folder(`log-${first + i}`))
    const opened = await all(programs, 'opened', (i) => ({
      files: i === 0 ? files : [...files].reverse(),
      number: isNew ? i + 1 : i + 3,
      at: Date.now() + DELAY
    }))
    for (const file of files) {
      const roles = opened.map(({ logs }) => logs[file].role)
      if (roles.sort().join() !== 'client,owner') problems.push(`${file}: ${JSON.stringify(opened.map(({ logs }) => logs[file]))}`)
      if (opened[0].logs[file].role === 'owner') owned++
    }
    const closed = await all(programs, 'closed', () => ({ close: true }))
    for (const { errors } of [...opened, ...closed]) problems.push(...errors)
    times += LOGS
    if (isNew) continue
    for (const file of files) {
      const numbers = (await numbersIn(file)).sort((a, b) => a - b)
      if (numbers.join() !== upTo(4).join()) problems.push(`${file}: records ${numbers}`)
    }
  }
  t.comment(`the first process was the owner ${owned} times`)
  t.deepEqual(problems, [], 'without an error, and the records of both are there once')
})

/** Sends a message to each program, and waits for the answers. */
async function all (programs, what, messageFor) {
  for (const program of programs) program.messages.length = 0
  programs.forEach((program, i) => program.send(messageFor(i)))
  return await inTime(Promise.all(programs.map(program => program.message(message => message.what === what))), what)
}
