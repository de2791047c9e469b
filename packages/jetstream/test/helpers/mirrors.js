'use strict'

// Logs and the streams into which they are mirrored.

const JetStreamLog = require('../..')
const { promises } = require('../../../../test/helpers/promises')
const { collect } = require('../../../../test/helpers/reading')

/** @returns {Promise<{ seq: number, value: string }[]>} what a stream has */
async function readStream (url, stream) {
  const log = promises(JetStreamLog({ servers: url, stream, readOnly: true, timeout: 60_000 }))
  const all = await collect(log.log)
  await log.close()
  return all.map(({ seq, value }) => ({ seq, value: value.toString() }))
}

/** @returns {Promise<string[]>} */
async function readLog (log) {
  return (await collect(log.log)).map(({ value }) => value.toString())
}

/** Whether the stream equals the log, with what differs first. */
async function compare (t, url, stream, log, what) {
  const [there, here] = [(await readStream(url, stream)).map(({ value }) => value), await readLog(log)]
  const at = here.findIndex((value, i) => value !== there[i])
  const isSame = at === -1 && there.length === here.length
  t.ok(isSame, `${what}: the stream equals the log, ${here.length} records${isSame ? '' : `; it has ${there.length}, at ${at}: ${JSON.stringify(there.slice(at, at + 3))} for ${JSON.stringify(here.slice(at, at + 3))}`}`)
}

module.exports = { readStream, readLog, compare }
