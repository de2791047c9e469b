// The interface of async-append-only-log, from a CommonJS module.

import AsyncAppendOnlyLog = require('flumelog-async-append-only-log')

const log = AsyncAppendOnlyLog('log', { blockSize: 65536, writeTimeout: 100, validateRecord: (data) => data.length > 0, import: 'keep', cacheSize: 0, sync: 'always' })
log.append(Buffer.from('a'), (err, offset: number) => { if (err === null) log.get(offset, (err, value: Buffer) => {}) })
log.append([Buffer.from('a')], () => {})
log.appendTransaction([Buffer.from('a')], (err, offsets: number[]) => {})
log.del(0, (err) => {})
log.onDrain(() => {})
log.onDeletesFlushed((err) => {})
log.compact((err) => {})
log.stats((err, { totalBytes, deletedBytes }) => {})
log.since((offset: number) => {})
log.compactionProgress(({ percent, done, sizeDiff, holesFound, startOffset, compactedOffset, unshiftedOffset }) => {})
const stream = log.stream({ gt: -1, gte: 0, lt: 5, lte: null, live: true, limit: 1, offsets: true, values: false, sizes: true })
stream.pipe({ paused: false, write: (item) => {} })
stream.sink.paused = true
stream.resume()
stream.abort()
const open: number = log.streams.size
const names: [string, number] = [log.filename, log.blockSize]
log.close()

interface Message { text: string }
const messages = AsyncAppendOnlyLog('log', { codec: { encode: (message: Message) => JSON.stringify(message), decode: (data): Message => JSON.parse(String(data)) } })
messages.append({ text: 'a' }, () => {})
messages.get(0, (err, { text }) => {})

// @ts-expect-error it has a callback
log.append(Buffer.from('a'))
// @ts-expect-error the codec encodes messages
messages.append('a', () => {})
// @ts-expect-error not an option
AsyncAppendOnlyLog('log', { shared: true })
