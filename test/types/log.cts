// The log with callbacks, from a CommonJS module.

import FlumeLog = require('flumelog-random-access-file')

interface Message { text: string, time: number }

const codec = {
  encode: (message: Message) => JSON.stringify(message),
  decode: (text: string): Message => JSON.parse(text),
  buffer: false
}

// opening

const log = FlumeLog('folder/log', { codec })
const typed: FlumeLog.Log<Message> = log
const explicit = FlumeLog<Message>('folder/log', { codec, blockSize: 4096 })
const options: FlumeLog.Options<Message> = {
  blockSize: 4096,
  block: 4096,
  codec,
  validate: (data: Buffer) => data.length > 2,
  cacheSize: 0,
  sync: 'interval',
  syncInterval: 100,
  syncBytes: 1024,
  checksum: false,
  lock: 'required',
  highWaterMark: 1024,
  blocking: true,
  shared: true,
  timeout: 5000,
  large: true,
  retain: { bytes: 1e9, age: 1000, time: (value) => value.at },
  readOnly: false
}
const bare = FlumeLog('folder/bare')
const bareToo: FlumeLog.Log = bare
declare const untyped: any
const anything: FlumeLog.Log<any> = FlumeLog('folder/log', { codec: untyped })

// @ts-expect-error no file
FlumeLog()
// @ts-expect-error not a file
FlumeLog(5)
// @ts-expect-error no such time to sync
FlumeLog('folder/log', { sync: 'sometimes' })
// @ts-expect-error no such option
FlumeLog('folder/log', { blocksize: 4096 })
// @ts-expect-error it needs a codec to be of messages
FlumeLog<Message>('folder/log')
// @ts-expect-error half a codec
FlumeLog('folder/log', { codec: { encode: codec.encode } })
// @ts-expect-error a log of something else
const wrong: FlumeLog.Log<string> = log

// what it was opened with

const filename: string | null = log.filename
const role: 'owner' | 'client' | null = log.role
// @ts-expect-error it is not the caller's to choose
log.role = 'server'
const blockSize: number = log.blockSize
const encoded: Uint8Array | string = log.codec.encode({ text: 'a', time: 1 })
log.highWaterMark = 2048
// @ts-expect-error not bytes
log.highWaterMark = '16 MiB'

// append

const message: Message = { text: 'a', time: 1 }
log.append(message)
log.append([message, message], (err, seq) => {
  if (err) throw err
  const n: number = seq
})
log.append(message, { sync: true }, (err: Error | null, seq?: number) => {})
log.append(message, { sync: true }, (err: NodeJS.ErrnoException | null, seq: number) => {})
log.append([message], { atomic: true }, (err, seqs) => {
log.append(message, { atomic: 1 > 0 as boolean }, (err, seqs) => { const either: number | number[] = seqs })
  const list: number[] = seqs
})
log.append([message], { atomic: true, sync: true }, (err: Error | null, seqs?: number[]) => {})
bare.append('a string')
bare.append(Buffer.from('a buffer'))
bare.append([new Uint8Array(1), 'and a string'])
// @ts-expect-error not what the codec encodes
log.append({ title: 'a' })
// @ts-expect-error nothing to append
log.append()
// @ts-expect-error no such option
log.append(message, { force: true })
// @ts-expect-error one seq, not several
log.append([message], {}, (err: Error | null, seqs: number[]) => {})
// @ts-expect-error without a codec it takes bytes
bare.append(message)

// get, getPrevious, search

log.get(0, (err, value) => {
  if (err) throw err
  const found: Message = value
})
log.getPrevious(100, (err, value, seq) => value.text.charCodeAt(seq))
log.search((value, seq) => value.time - seq, (err, seq, value) => value.text.charCodeAt(seq))
log.search((value) => BigInt(value.time), () => {})
bare.get(0, (err, value) => value.readUInt8(0))
// @ts-expect-error without a codec it is a Buffer
bare.get(0, (err, value: symbol) => {})
// @ts-expect-error a message, not a Buffer
log.get(0, (err, value: Buffer) => {})
// @ts-expect-error a seq is a number
log.get('0', () => {})
// @ts-expect-error no callback
log.get(0)
// @ts-expect-error messages have no title
log.search((value) => value.title, () => {})
// @ts-expect-error it compares
log.search((value) => value.text, () => {})

// stream, scan, sink

const retain: FlumeLog.RetainOptions = { bytes: 1e9 }
FlumeLog('folder/log', { codec, retain: { age: 1000, time: ({ time }: Partial<Message>) => time } })
// @ts-expect-error it cannot be async
FlumeLog('folder/log', { codec, retain: { age: 1000, time: async ({ time }: Message) => time } })
const onSkip = ({ start, end, error }: FlumeLog.Skipped) => console.log(end - start, error.message)
const sized: (end: unknown, record: FlumeLog.SizedRecord<Message>) => void = (end, { size, value }) => console.log(size, value?.text)
log.stream({ deleted: true, skipCorrupt: true, onSkip })(null, sized)
log.batches({ deleted: true })(null, (end, [{ size, value }]) => console.log(size, value?.text))
log.stream({ deleted: true, seqs: false })(null, (end, value) => value?.text)
log.batches({ deleted: true, seqs: false })(null, (end, [value]) => value?.text)
// @ts-expect-error it is null if the record is deleted
log.stream({ deleted: true, seqs: false })(null, (end, value) => value.text)
const within: FlumeLog.ScanOptions = { gt: 0, reuse: true }
const durably: FlumeLog.SinkOptions = { sync: true }
const range: FlumeLog.StreamOptions = { gt: 0, gte: 0, lt: 100, lte: 100, reverse: true, limit: 5, live: false, old: true, cache: false }
log.stream({ ...range, skipCorrupt: true, onSkip: ({ start, end, error }) => console.log(end - start, error.message) })
log.stream()(null, (end, { seq, value }) => value.text.charCodeAt(seq))
log.stream()(null, (end, record: FlumeLog.LogRecord<Message>) => end && end !== true && end.code === 'flumelog:corrupt')
log.stream({ live: true })(null, (end, record) => record.value.text)
log.stream({ values: false })(null, (end, seq) => seq.toFixed())
log.stream({ seqs: false })(null, (end, value) => value.text)
log.stream()(true, () => {})
log.batches({ reverse: true })(null, (end, [{ seq, value }]) => value.text.charCodeAt(seq))
log.batches({ values: false })(null, (end, [seq]) => seq.toFixed())
log.batches({ seqs: false })(null, (end, [value]) => value.text)
// @ts-expect-error records, not one
log.batches()(null, (end, { value }) => value.text)
log.scan({ gt: 0, reuse: true }, (block, start, end, seq) => block.readUInt8(start) < end + seq, (err) => err?.message)
log.sink((err, { records, bytes, seq }) => records + bytes + seq)
log.sink({ sync: true }, (err) => err?.message)(log.stream({ seqs: false }))
log.sink()((abort, cb) => abort ? cb(abort) : cb(null, message))
// @ts-expect-error no such option
log.stream({ from: 0 })
// @ts-expect-error seqs have no text
log.stream({ values: false })(null, (end, seq) => seq.text)
// @ts-expect-error values have no seq
log.stream({ seqs: false })(null, (end, value) => value.seq)
// @ts-expect-error a scan knows no limit
log.scan({ limit: 5 }, () => {}, () => {})
// @ts-expect-error records are not what it appends
log.sink()(log.stream())

// since

const stop: () => void = log.since((seq: number) => seq > 5 && false, false)
log.since.once(seq => seq.toFixed(), false)
const cancel: () => void = log.since.next((err, seq) => err ? err.message : seq)
const last: number | undefined = log.since.value
// @ts-expect-error it may be undefined
log.since.value.toFixed()
// @ts-expect-error it is read
log.since.value = 5
// @ts-expect-error it is the log's to set
log.since.set(5)
// @ts-expect-error a seq is a number
log.since((seq: string) => {})

// errors

log.get(0, (err) => {
  if (err === null) return
  if (err.code === 'flumelog:corrupt') console.log(err.filename, err.offset, err.block, err.cause)
  else if (err.code === 'flumelog:block-size') console.log(err.blockSize)
  else if (err.code === 'flumelog:conflict') console.log((err.after ?? -1) + (err.seq ?? -1))
  else if (err.code === 'ENOSPC') console.log(err.syscall, err.errno, err.path)
  const code: FlumeLog.ErrorCode | `E${string}` | undefined = err.code
  // @ts-expect-error no such code
  if (err.code === 'flumelog:corupt') console.log(err)
  // @ts-expect-error what a function of the caller's threw has none
  err.code.toUpperCase()
})
const onError = (err: FlumeLog.LogError | FlumeLog.SystemError | null) => err?.message
const onErrorToo: (err: FlumeLog.CallbackError | null) => void = onError
log.sync(onError)
const code: FlumeLog.ErrorCode = (new Error('a') as FlumeLog.LogError).code
// @ts-expect-error it is none of the operating system
const systemCode: `E${string}` = code
const skipping: FlumeLog.StreamOptions = { skipCorrupt: true, onSkip: ({ error }) => error.code === 'flumelog:corrupt' }

// the rest

log.del(0)
log.backup('folder/backup', (err, result) => { if (!err) console.log(result.bytes + result.copied, result.incremental) })
log.backup('folder/backup', { full: true, onProgress: ({ step, bytes, total }) => console.log(step, bytes / total) }, (err) => console.log(err?.message))
log.del([0, 9], (err) => err?.message)
const cursor: FlumeLog.Cursor<Message> = log.cursor('mailer')
const position: number | undefined = cursor.seq
const cursorName: string = cursor.name
cursor.stream({ live: true, limit: 5 })(null, (end, { seq, value }) => cursor.commit(seq, (err) => console.log(err?.message, value.text)))
cursor.stream({ deleted: true })(null, sized)
cursor.batches({ values: false })(null, (end, seqs) => cursor.commit(seqs[0], { sync: true, rewind: true }))
cursor.onReady((err, seq) => seq.toFixed())
cursor.close((err) => err?.message)
log.cursors((err, list) => list.map(({ name, seq, held }) => held ? name : seq))
// @ts-expect-error a cursor says where to start
cursor.stream({ gt: 5 })
// @ts-expect-error no such option
cursor.commit(5, { synch: true })
// @ts-expect-error it has a name
log.cursor()
log.del({ gte: 0, lt: 9 }, (err) => err?.message)
log.trim({ lt: log.start + 5 })
log.trim({ lt: 5 }, (err, start) => start + 1)
log.stream({ gt: 5, fromStart: true })
log.compact((err, { before, after, records }) => before - after + records)
log.compact({ onProgress: ({ bytes, total }) => bytes / total, signal: new AbortController().signal }, (err, { id }) => id.length)
// @ts-expect-error records are deleted before
log.compact({ keep: () => true }, () => {})
const forget: () => void = log.onCompact(async ({ id, previousId, map }) => [id, previousId?.length, (await map(5))?.toFixed()])
const identity: string | null = log.id
log.onReady((err, cut) => console.log(cut?.offset, cut?.bytes, cut?.filename))
// @ts-expect-error it may be null
log.onReady((err, cut) => cut.offset)
log.onDrain((err) => err?.message)
log.sync((err) => err?.message)
log.close()
log.close((err) => err?.message)
const del: 'async' = log.methods.del
const stats: FlumeLog.Stats = log.stats()
const { appended, written, inFlight, writes, syncs, unsynced, cache, streams, clients, refused, size, blocks, recovered, cut } = stats
const sums: number = appended.records + written.bytes + inFlight.bytes + writes + syncs + unsynced +
  cache.hits + cache.misses + cache.evictions + streams + size + blocks + recovered + (cut?.bytes ?? 0) + refused
const busy: string[] = clients.filter(({ inFlight, appended }) => inFlight.bytes + appended.records > 0).map(({ id, pid }) => id + pid)
// @ts-expect-error a seq is a number
log.del('0')
// @ts-expect-error no callback
log.onReady()
// @ts-expect-error no such member
log.delete(0)
// @ts-expect-error no such count
stats.lost
