// A log in a JetStream stream, from a CommonJS module.

import JetStreamLog = require('flumelog-jetstream')
import { wrap } from 'flumelog-random-access-file/promises'

interface Message { text: string, time: number }

const codec = {
  encode: (message: Message) => JSON.stringify(message),
  decode: (text: string): Message => JSON.parse(text),
  buffer: false
}

const log = JetStreamLog({ stream: 'messages', codec, servers: ['nats://127.0.0.1:4222'], replicas: 3, duplicateWindow: 60_000, tls: { caFile: 'ca.pem' } })
const typed: JetStreamLog.Log<Message> = log
const ofJson = JetStreamLog<Message>({ stream: 'messages', codec: 'json' })
ofJson.get(1, (err, { text }) => console.log(err, text.length))
// @ts-expect-error: not a message
ofJson.append({ any: 'value' })
const anything = JetStreamLog({ stream: 'messages', codec: 'json' })
anything.append({ any: 'value' })
anything.get(1, (err, { any }) => console.log(err, any, anything.stats().reconnects.toFixed()))
const options: JetStreamLog.Options = { stream: 'S', subject: 's', user: 'u', pass: 'p', token: 't', creds: 'file', tls: true, name: 'n', filename: null, highWaterMark: 1, timeout: 1, readOnly: true }
// @ts-expect-error: without a stream
JetStreamLog({})
// @ts-expect-error: an option that does not exist
JetStreamLog({ stream: 'S', blockSize: 1 })

log.append({ text: 'a', time: 1 }, (err, seq) => console.log(err?.code, seq.toFixed()))
log.append({ text: 'a', time: 1 }, { key: 'k' }, (err, seq) => console.log(err?.code, seq.toFixed()))
wrap(log).append({ text: 'a', time: 1 }, { key: 'k' }).then(seq => console.log(seq.toFixed()))
// @ts-expect-error: not a key
log.append({ text: 'a', time: 1 }, { key: 1 })
// @ts-expect-error: not a message
log.append('a')
log.search(({ time }) => time - 1, (err, seq, value) => console.log(err, seq, value.text))
log.search({ time: new Date() }, (err, seq, value) => console.log(err, seq, value.text))
log.get(1, (err, value) => console.log(err?.code === 'flumelog:server', value.text))
JetStreamLog(options).get(1, (err, value) => console.log(err, value.readInt8(0)))
wrap(log).get(1).then(({ text }) => console.log(text))
console.log(typed)
const partitioned: JetStreamLog.PartitionedLog<Message> = JetStreamLog({ stream: 'messages', codec, partitions: 4, key: ({ text }) => text, config: { max_age: 1e9, compression: 's2' } })
partitioned.append({ text: 'a', time: 1 }, { after: -1 }, (err, seq) => console.log(err?.code, seq.toFixed(), partitioned.since.value?.length))
partitioned.append({ text: 'a', time: 1 }, { after: [-1, -1, -1, -1], sync: true }, (err, seq) => console.log(err?.code, seq.toFixed()))
partitioned.append([{ text: 'a', time: 1 }], { after: 5, atomic: true }, (err, seqs) => console.log(err?.code, seqs[0].toFixed()))
// @ts-expect-error: not a message
partitioned.append('a')
const ofJsons: JetStreamLog.PartitionedLog<Message> = JetStreamLog<Message>({ stream: 'messages', codec: 'json', partitions: 4, key: ({ text }) => text })
console.log(ofJsons.stats()[0].reconnects.toFixed())
partitioned.stream({ gt: [-1, -1, -1, -1], live: true })
JetStreamLog.envelope(codec).decode(Buffer.alloc(1)).value.text.trim()
console.log(JetStreamLog.envelope().decode(Buffer.alloc(1)).value.readInt8(0), JetStreamLog.envelope(codec).decode(Buffer.alloc(1)).time.toFixed())
JetStreamLog.envelope('json').decode(Buffer.alloc(1)).value.text.trim()
JetStreamLog.envelope<Message>('json').decode(Buffer.alloc(1)).value.text.trim()
// @ts-expect-error: not a member
JetStreamLog.envelope<Message>('json').decode(Buffer.alloc(1)).value.title
// @ts-expect-error: without an order
partitioned.search(() => 0, () => {})
// @ts-expect-error: a setting that a log needs as it is
JetStreamLog({ stream: 'messages', config: { storage: 'memory' } })
log.cursor('c', { commitWithin: 1000, inFlight: 1 }).commit(1, err => console.log(err?.code))
// @ts-expect-error: an option that does not exist
log.cursor('c', { within: 1 })
