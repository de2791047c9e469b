'use strict'

// Live streams read what the server delivers, and ask for it only if it was not delivered.

const test = require('tape')
const { connect } = require('@nats-io/transport-node')
const { following } = require('./helpers/disturbed-streams')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { withServer, streamName } = require('./helpers/nats')

const codec = require('flumecodec').json
const RECORDS = 200

withServer('live streams', (shared) => {
  test('what the server has delivered is not asked for', async (t) => {
    const stream = streamName()
    const writer = openLog(shared.server, { stream, codec })
    const reader = openLog(shared.server, { stream, codec })
    const nats = await connect({ servers: shared.server.url })
    let asked = 0
    nats.subscribe(`$JS.API.DIRECT.GET.${stream}`, { callback: () => { asked++ } })
    await nats.flush()
    await writer.append(0)
    const streams = [following(reader.log), following(reader.log)]
    await streams[0].until(1)
    for (let i = 1; i <= RECORDS; i++) await writer.append(i)
    for (const { until } of streams) await until(RECORDS + 1)
    await nats.flush()
    for (const { got } of streams) t.deepEqual(got.map(({ value }) => value), Array.from({ length: RECORDS + 1 }, (_, i) => i))
    // the first record, and what a busy machine is late with
    t.ok(asked < RECORDS / 4, `asked ${asked} times for ${RECORDS} records`)
    await Promise.all([writer.close(), reader.close(), nats.close()])
  })

  test('a stream that is behind what is kept reads the rest', async (t) => {
    const stream = streamName()
    const writer = openLog(shared.server, { stream, codec })
    const reader = openLog(shared.server, { stream, codec })
    await writer.append(0)
    const [first, second] = [following(reader.log), reader.log.stream({ live: true, seqs: false })]
    await first.until(1)
    const read = () => new Promise((resolve, reject) => second(null, (end, value) => end ? reject(end) : resolve(value)))
    const values = [await read()]
    for (let n = 1; n <= 5000; n += 500) await writer.append(Array.from({ length: 500 }, (_, i) => n + i))
    await first.until(5001)
    while (values.length <= 5000) values.push(await read())
    t.ok(values.every((value, i) => value === i))
    await new Promise(resolve => second(true, resolve))
    await Promise.all([writer.close(), reader.close()])
  })

  test.onFinish(closeLogs)
})
