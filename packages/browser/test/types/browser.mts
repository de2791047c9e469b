// A log in a browser, from an ES module.

import { open, exportFiles, importFiles, listLogs, removeLog, type ErrorCode, type Log, type LogError, type NamedData, type SystemError } from 'flumelog-browser'

const bytes = await open('bytes')
const seq: number = await bytes.append('text')
const data: Uint8Array = await bytes.get(seq)
for await (const { seq, value } of bytes.stream({ live: true, signal: new AbortController().signal })) console.log(seq + 1, value.length + data.length)

interface Event { at: number }
const events: Log<Event> = await open<Event>('events', { codec: 'json', blockSize: 4096 })
await events.append([{ at: 1 }, { at: 2 }], { sync: true })
const at: number = (await events.search(({ at }) => at - 2)).value.at
for await (const batch of events.batches({ gt: at })) console.log(batch[0].value.at)
const cursor = events.cursor('mine')
await cursor.commit(await cursor.ready())
for await (const { value, size } of cursor.stream({ deleted: true })) console.log(value?.at, size)
for await (const seqs of cursor.batches({ values: false, limit: 5 })) console.log(seqs[0].toFixed())
// @ts-expect-error a cursor says where to start
cursor.stream({ gt: 5 })
for await (const seq of events.stream({ values: false })) console.log(seq.toFixed())
for await (const { at } of events.stream({ seqs: false, reverse: true })) console.log(at)
for await (const [{ value, size }] of events.batches({ deleted: true })) console.log(value?.at, size)
for await (const seq of events.since) console.log(seq.toFixed())
const seqs: number[] = await events.append([{ at: 1 }], { atomic: true })
const { before, after } = await events.compact({ onProgress: ({ bytes, total }) => console.log(bytes / total) })
await events.scan({ gt: seqs[0] }, (bytes, start, end) => bytes.subarray(start, end).length < before - after)
// @ts-expect-error a scan knows no limit
await events.scan({ limit: 5 }, () => {})
events.onCompact?.(({ id }) => console.log(id, events.codec, events.highWaterMark))
const err = new Error('a') as LogError | SystemError
if (err.code === 'flumelog:unsupported') console.log(err.message)
const code: ErrorCode = 'flumelog:locked'
console.log(code)
{
  await using disposed = await open('disposed', { blocking: false })
  console.log(disposed.blockSize)
}
const { records, bytes: size, seq: last } = await events.appendFrom([{ at: 3 }])
console.log(records + size + last, events.since.value)
const { incremental } = await events.backup('copy', { full: true })
console.log(incremental)
await events.close()

const own = await open('own', { codec: { encode: (value: Date) => value.toISOString(), decode: (text: string) => new Date(text), buffer: false } })
await own.append(new Date())

const files: File[] = await exportFiles('events')
const named: NamedData[] = [{ name: 'events', data: new Uint8Array(4) }]
await importFiles('copy', [...files, ...named])
const logs: string[] = await listLogs()
await removeLog(logs[0])

const shared = await open('shared', { shared: true, timeout: 5000 })
const role: 'owner' | 'client' | null = shared.role
console.log(role)

// @ts-expect-error no such option
await open('events', { lock: false })
// @ts-expect-error no event
await events.append('text')
// @ts-expect-error the files are missing
await importFiles('copy')
