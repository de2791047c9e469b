'use strict'

// flumelog serve: takes over from another owner, and hands over to the next.

const path = require('path')
const test = require('tape')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { start } = require('../helpers/command-line')
const { textsOf } = require('../helpers/logs')
const { promises } = require('../helpers/promises')
const { flumelog } = require('../helpers/warm-flumelog')

const FAILING_SYNC = path.join(__dirname, '..', 'helpers', 'failing-sync.js')

/** Prints this when it owns the log. */
const serving = ({ stderr }) => stderr.endsWith('serving\n') || stderr.endsWith('serving; other processes can append\n')
const waiting = ({ stderr }) => stderr.endsWith('another process owns this log; waiting to take over\n')

test('serve waits while another process owns the log, and takes over when that is closed or killed', async (t) => {
  const file = testFolder(t)('log')
  const first = start(t, ['serve', file])
  await first.printed(serving)
  const second = start(t, ['serve', file])
  await second.printed(waiting)
  const third = start(t, ['serve', file])
  await third.printed(waiting)
  await flumelog(['append', file], { input: 'one' })
  await first.kill('SIGKILL')
  await Promise.race([second.printed(serving), third.printed(serving)])
  const [owner, other] = serving(second) ? [second, third] : [third, second]
  await flumelog(['append', file], { input: 'two' })
  t.match((await owner.kill('SIGTERM')).stderr, /log: took over; serving\n.*log: stopped after \d+ s: 1 record, 3 bytes appended\n$/)
  await other.printed(serving)
  await flumelog(['append', file], { input: 'three' })
  t.equal((await other.kill('SIGTERM')).code, 0)
  t.deepEqual(await textsOf(file), ['one', 'two', 'three'])
})

test('serve that waits ends when it is stopped', async (t) => {
  const file = testFolder(t)('log')
  const owner = promises(FlumeLog(file, { shared: true }))
  await owner.append('a')
  const running = start(t, ['serve', file])
  await running.printed(waiting)
  const { code, stderr } = await running.kill('SIGINT')
  t.equal(code, 0)
  t.match(stderr, /log: stopped after \d+ s; another process owns this log\n$/)
  await owner.close()
})

test('serve ends with an error when an fsync has failed, and another process takes over', async (t) => {
  const file = testFolder(t)('log')
  const owner = start(t, ['serve', file], { preload: [FAILING_SYNC] })
  await owner.printed(serving)
  const client = promises(FlumeLog(file, { shared: true }))
  await client.append('one')
  const { code, stderr } = await owner.ended
  t.equal(code, 1)
  t.match(stderr, /^flumelog: .*log: an fsync failed, so it is unknown which data is durable; reopen the log to append$/m)
  await client.append('two')
  t.equal(client.log.role, 'owner')
  await client.close()
  t.deepEqual(await textsOf(file), ['one', 'two'])
})
