// The log with push-streams, from a CommonJS module.

import FlumeLog = require('flumelog-random-access-file')
import push = require('flumelog-random-access-file/push')

interface Message { text: string }

const codec: FlumeLog.Codec<Message> = { encode: (message) => JSON.stringify(message), decode: (text) => JSON.parse(text), buffer: false }
const log: push.PushLog<Message> = push(FlumeLog('folder/log', { codec }))

const source = log.stream({ live: true })
source.pipe({ paused: false, write: ({ seq, value }) => value.text.charCodeAt(seq), end: (err) => err?.message })
source.resume()
source.abort()
source.abort(new Error('no more'))
log.stream({ values: false }).pipe({ write: (seq) => seq.toFixed() })
log.stream({ seqs: false }).pipe({ write: (value) => value.text })
const sink = { paused: false, write: (item: { seq: number }) => {}, own: 1 }
const own: number = log.stream().pipe(sink).own

log.append({ text: 'a' }, (err, seq) => seq.toFixed())
log.get(0, (err, value) => err?.code === 'flumelog:deleted' ? null : value.text)
const onError = (err: push.LogError | push.SystemError | null) => err?.message
log.close(onError)
const code: push.ErrorCode = 'flumelog:locked'
const seqs: push.PushStream<number> = log.stream({ values: false })
const flumelog: FlumeLog.Log<Message> = log.flumelog
const last: number | undefined = log.since.value

// @ts-expect-error it cannot be written to
source.pipe({ paused: false })
// @ts-expect-error seqs have no text
log.stream({ values: false }).pipe({ write: (seq) => seq.text })
// @ts-expect-error no such option
log.stream({ from: 0 })
// @ts-expect-error not a pull-stream
log.stream()(null, () => {})
// @ts-expect-error not what the codec encodes
log.append({ title: 'a' })
// @ts-expect-error without a codec it is of Buffers
const wrong: push.PushLog<symbol> = push(FlumeLog('folder/log'))
// @ts-expect-error no such code
const unknown: push.ErrorCode = 'flumelog:lokced'
// @ts-expect-error internal
source.deliver(sink)
// @ts-expect-error not a log
push('folder/log')
