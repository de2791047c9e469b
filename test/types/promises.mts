// The log with promises, from an ES module.

import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import FlumeLog, { type Log } from 'flumelog-random-access-file'
import { open, wrap, FlumeLog as PromiseLog, type BackedUp, type Codec, type Cursor, type CursorInfo, type ErrorCode, type IteratorOptions, type LogError, type LogIterator, type LogRecord, type Options, type RetainOptions, type SizedRecord, type Skipped, type Stats, type SystemError } from 'flumelog-random-access-file/promises'

interface Message { text: string, time: number }

const codec: Codec<Message> = { encode: (message) => JSON.stringify(message), decode: (text) => JSON.parse(text), buffer: false }
const message: Message = { text: 'a', time: 1 }

// opening

const log = await open('folder/log', { codec, sync: 'always' })
const explicit: PromiseLog<Message> = await open<Message>('folder/log', { codec })
const ofJson: PromiseLog<Message> = await open<Message>('folder/log', { codec: 'json' })
const anything = await open('folder/log', { codec: 'json' })
anything.append({ any: 'value' })
// @ts-expect-error not a message
ofJson.append({ any: 'value' })
const bare = await open('folder/bare')
const bareToo: PromiseLog = bare
const options: Options = { blockSize: 4096 }
const withOptions: PromiseLog = await open('folder/bare', options)
const flumelog: Log<Message> = log.flumelog
const wrapped: PromiseLog<Message> = wrap(flumelog)
const bytes = wrap(FlumeLog('folder/bare'))
const filename: string | null = log.filename
const role: 'owner' | 'client' | null = log.role
const blockSize: number = log.blockSize
const encoded: Uint8Array | string = log.codec.encode(message)
log.highWaterMark = 2048
const cut: { offset: number, bytes: number, filename: string | null } | null = await log.ready()
const stats: Stats = log.stats()
const written: number = log.stats().written.records
// @ts-expect-error no file
await open()
// @ts-expect-error it needs a codec to be of messages
await open<Message>('folder/log')
// @ts-expect-error no such option
await open('folder/log', { codec, blocksize: 4096 })
// @ts-expect-error a promise is not a log
const early: PromiseLog<Message> = open('folder/log', { codec })
// @ts-expect-error a log of something else
const wrong: PromiseLog<string> = log
// @ts-expect-error it is opened already
wrap('folder/log')

// append, get, getPrevious, search, del, sync, close

const seq: number = await log.append(message)
const last: number = await log.append([message, message], { sync: true })
const seqs: number[] = await log.append([message, message], { atomic: true })
const conditional: number = await log.append(message, { after: -1, sync: true })
const conditionalSeqs: number[] = await log.append([message], { after: conditional, atomic: true })
const isAtomic = seqs.length > 1
const either: number | number[] = await log.append([message], { atomic: isAtomic })
const lastToo: number = await log.append(message, true)
await bare.append('a string')
await bytes.append([new Uint8Array(1)])
const value: Message = await log.get(seq)
const previous: LogRecord<Message> = await log.getPrevious(seq)
const found: { seq: number, value: Message } = await log.search((value, seq) => value.time - seq)
const nothing: void = await log.del(seq)
const backedUp: BackedUp = await log.backup('folder/backup', { full: false, signal: new AbortController().signal })
console.log(backedUp.bytes + backedUp.copied, backedUp.incremental, (await log.backup('folder/backup')).bytes)
await log.del([seq, last])
await log.del({ gt: seq, lte: last })
const start: number = await log.trim({ lt: log.start + 1 })
const { before, after }: { before: number, after: number } = await log.compact({ onProgress: ({ bytes }) => bytes })
console.log(before - after, (await log.compact()).records, log.id?.length)
const forget: () => void = log.onCompact(({ map }) => map(5).then(seq => seq?.toFixed()))
forget()
await log.scan({ gt: 0, reuse: true }, (block, start, end, seq) => block.readUInt8(start) < end + seq)
await log.drained()
await log.sync()
await log.close()
// @ts-expect-error not what the codec encodes
await log.append({ title: 'a' })
// @ts-expect-error without a codec it is a Buffer
const symbol: symbol = await bare.get(0)
// @ts-expect-error several seqs, not one
const one: number = await log.append([message], { atomic: true })
// @ts-expect-error it gives a promise
await log.append(message, () => {})
// @ts-expect-error a seq is a number
await log.get('0')
// @ts-expect-error a message, not a Buffer
const buffer: Buffer = await log.get(seq)
// @ts-expect-error with its seq
const bareValue: Message = await log.getPrevious(seq)
// @ts-expect-error it compares
await log.search((value) => value.text)
// @ts-expect-error without a codec it takes bytes
await bare.append(message)
// @ts-expect-error a seq is a number
await log.del('0')

// cursors

const cursor: Cursor<Message> = log.cursor('mailer')
const position: number = await cursor.ready()
const positionNow: number | undefined = cursor.seq
for await (const { seq, value } of cursor.stream({ live: true, signal: new AbortController().signal })) await cursor.commit(seq, { sync: value.time > 5 })
for await (const seqs of cursor.batches({ values: false })) await cursor.commit(seqs[0] ?? -1, { rewind: true })
for await (const { size, value } of cursor.stream({ deleted: true })) console.log(size, value?.text)
for await (const [{ size, value }] of cursor.batches({ deleted: true })) console.log(size, value?.text)
for await (const value of cursor.stream({ deleted: true, seqs: false })) value?.text
for await (const [value] of cursor.batches({ deleted: true, seqs: false })) value?.text
// @ts-expect-error it is null if the record is deleted
for await (const { value } of cursor.stream({ deleted: true })) value.text
const cursors: CursorInfo[] = await log.cursors()
await cursor.close()
// @ts-expect-error a cursor says where to start
cursor.stream({ gte: 5 })
// @ts-expect-error it gives a promise
await cursor.commit(5, () => {})

// since

const current: number | undefined = log.since.value
const next: number = await log.since.next()
await log.since.next({ signal: new AbortController().signal })
for await (const seq of log.since) seq.toFixed()
for await (const seq of log.since.changes({ signal: new AbortController().signal })) seq.toFixed()
// @ts-expect-error a signal only
await log.since.next({ after: 5 })

// appendFrom

const { records: many, bytes: much, seq: latest } = await log.appendFrom([message])
await log.appendFrom((async function * () { yield message })(), { sync: true, signal: new AbortController().signal })
await bare.appendFrom(new Set(['a string', new Uint8Array(1)]))
// @ts-expect-error not records
await log.appendFrom(['a'])
// @ts-expect-error no such option
await log.appendFrom([message], { atomic: true })
// @ts-expect-error a scan knows no limit
await log.scan({ limit: 5 }, () => {})

// errors

try {
  await log.get(seq)
} catch (thrown) {
  const err = thrown as LogError | SystemError
  if (err.code === 'flumelog:corrupt') console.log(err.offset)
  if (err.code === 'EACCES') console.log(err.path)
  // @ts-expect-error no such code
  if (err.code === 'flumelog:corupt') console.log(err)
  const code: ErrorCode = (err as LogError).code
}

// stream

const { signal } = new AbortController()
const range: IteratorOptions = { gt: 0, live: true, signal }
for await (const { seq, value } of log.stream()) value.text.charCodeAt(seq)
for await (const { seq, value } of log.stream({ gt: 0, live: true, signal })) value.text.charCodeAt(seq)
for await (const seq of log.stream({ values: false })) seq.toFixed()
for await (const value of log.stream({ seqs: false, reverse: true })) value.text
for await (const record of log.stream(range)) record
for await (const { value } of bare.stream()) value.readUInt8(0)
const retain: RetainOptions = { bytes: 1e9 }
const onSkip = ({ start, end, error }: Skipped) => console.log(end - start, error.message)
const sized: LogIterator<SizedRecord<Message>> = log.stream({ deleted: true, skipCorrupt: true, onSkip })
for await (const [{ size, value }] of log.batches({ deleted: true })) console.log(size, value?.text)
for await (const value of log.stream({ deleted: true, seqs: false })) value?.text
for await (const [value] of log.batches({ deleted: true, seqs: false })) value?.text
// @ts-expect-error it is null if the record is deleted
for await (const value of log.stream({ deleted: true, seqs: false })) value.text
const walk: AsyncIterableIterator<LogRecord<Message>> = log.stream()
const records: LogIterator<LogRecord<Message>> = log.stream()
// @ts-expect-error internal
records.answerPending()
const { done, value: record } = await records.next()
if (!done) record.value.text
await records.return()
await records.throw(new Error('no more')).catch(() => {})
for await (const batch of log.batches()) for (const { seq, value } of batch) value.text.charCodeAt(seq)
for await (const seqs of log.batches({ values: false, signal })) seqs.at(-1)?.toFixed()
for await (const [value] of log.batches({ seqs: false, live: true })) value.text
for await (const batch of log.batches(range)) batch.length
const batches: AsyncIterableIterator<LogRecord<Message>[]> = log.batches({ limit: 5 })
// @ts-expect-error a batch is not a record
for await (const { value } of log.batches()) value
// @ts-expect-error seqs have no text
for await (const [seq] of log.batches({ values: false })) seq.text
// @ts-expect-error no such option
log.batches({ size: 100 })
// @ts-expect-error seqs have no text
for await (const seq of log.stream({ values: false })) seq.text
// @ts-expect-error values have no seq
for await (const value of log.stream({ seqs: false })) value.seq
// @ts-expect-error not a signal
log.stream({ signal: true })
// @ts-expect-error no such option
log.stream({ from: 0 })
// @ts-expect-error it has to be awaited
for (const record of log.stream()) record

// disposing

{
  await using disposed = await open('folder/log', { codec })
  await using walk = disposed.stream()
}

// streams of Node.js

const readable: Readable = Readable.from(log.stream({ gt: 0, seqs: false, signal }))
const appended: number = (await pipeline(readable, (records) => log.appendFrom(records))).records
