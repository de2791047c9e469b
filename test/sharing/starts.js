'use strict'

// Two processes that open a log at the same instant: one is the owner, the other its client.

const tape = require('tape')
const { testFolder } = require('../helpers/folder')
const { start } = require('../helpers/processes')
const { inTime, numbersIn, upTo } = require('../helpers/sharing')

const TIMES = Number(process.env.RUNS ?? 200)
const PROCESSES = 2

tape(`of two processes that open a log at the same instant, one is the owner, ${TIMES} times`, async (t) => {
  const folder = testFolder(t)
  const programs = Array.from({ length: PROCESSES }, () => start(t, 'open-at-once.js', {}))
  await Promise.all(programs.map(program => program.message(({ what }) => what === 'started')))
  const counts = { owners: 0, clients: 0, changes: 0 }
  const problems = []
  for (let time = 0; time < TIMES && problems.length === 0; time++) {
    // every other time the log is there already; then the owner of the last time is gone
    const file = folder(`log-${Math.floor(time / 2)}`)
    const first = time % 2 * PROCESSES + 1
    // they wait for it without yielding, so that both begin within microseconds
    const at = Date.now() + 5
    programs.forEach((program, i) => program.send({ time, file, number: first + i, at }))
    const told = await inTime(Promise.all(programs.map(program => program.message(message => message.time === time && message.what === 'appended'))), `opening the ${time}th log`)
    const roles = told.map(({ role }) => role).sort()
    if (roles.join() !== 'client,owner' || told.some(({ code }) => code !== undefined)) problems.push(`time ${time}: ${JSON.stringify(told)}`)
    counts.owners += roles.filter(role => role === 'owner').length
    counts.clients += roles.filter(role => role === 'client').length
    programs.forEach(program => program.send({ time, close: true }))
    const closed = await inTime(Promise.all(programs.map(program => program.message(message => message.time === time && message.what === 'closed'))), `closing the ${time}th log`)
    for (const { code, message } of closed) if (code !== undefined) problems.push(`time ${time}: closing: ${code} ${message}`)
    if (closed.some(({ role }, i) => role !== told[i].role)) counts.changes++
    for (const program of programs) program.messages.length = 0
    if (first > 1) {
      const numbers = (await numbersIn(file)).sort((a, b) => a - b)
      if (numbers.join() !== upTo(2 * PROCESSES).join()) problems.push(`time ${time}: records ${numbers}`)
    }
  }
  t.comment(JSON.stringify(counts))
  t.deepEqual(problems, [], 'without an error, and the records of both are there once')
})
