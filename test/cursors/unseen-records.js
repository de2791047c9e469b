'use strict'

// A cursor that another process has moved to a record that this one has not read yet, since no file event told it of the record.

const tape = require('tape')
const { World } = require('../helpers/simulator/world')

tape('a cursor committed by the writer is valid in a reader that was not told of its record', async (t) => {
  const world = new World(1)
  world.lostEvents = 1
  const [writer, reader] = [world.start(), world.start()].map(process => process.require('./promises'))
  let given = null
  const run = async () => {
    const log = await writer.open('/log', { blockSize: 64 })
    const readOnly = await reader.open('/log', { readOnly: true })
    await log.append(['one', 'two'])
    const cursor = log.cursor('mailer')
    await cursor.commit(log.since.value)
    await cursor.close()
    await log.append('three')
    given = []
    for await (const { value } of readOnly.cursor('mailer').stream()) given.push(String(value))
    await readOnly.close()
    await log.close()
  }
  let isDone = false
  const running = run().catch(err => t.fail(err)).finally(() => { isDone = true })
  await world.run(() => isDone, 10_000)
  await running
  t.deepEqual(given, ['three'])
})
