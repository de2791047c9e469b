'use strict'

// What does a codec cost? Reads a field of all records, which are JSON: through this log and others with the codec that
// flumedb users have, and with the least code that does the same. And the same records as bipf, whose fields are found
// without parsing.

const fs = require('fs')
const path = require('path')
const readline = require('readline')
const { json } = require('flumecodec')
const ours = require('./peers/ours')
const flumelogOffset = require('./peers/flumelog-offset')
const asyncAppendOnlyLog = require('./peers/async-append-only-log')
const jsonLines = require('./peers/json-lines')
const { bareJson } = require('./helpers/bare')
const { drain, drainPush } = require('./helpers/pull')
const { stored, timeReads } = require('./helpers/rows')
const { recordMaker } = require('./helpers/records')

const counts = { quick: 200000, full: 1000000 }
const BLOCK_SIZE = 65536

/** Each calls `onRecord` with the field `n` of each record, in order. */
const rows = [
  {
    name: 'stream of JSON',
    peer: ours,
    read: (folder, onNumber) => withLog(ours, folder, { codec: json }, (log) => drain(log.stream(), ({ value }) => onNumber(value.n)))
  },
  {
    name: 'bare loop: JSON.parse(block.utf8Slice())',
    note: 'a minimal loop over the same file: see bench/helpers/bare.js',
    peer: ours,
    read: async (folder, onNumber) => bareJson(path.join(folder, 'log'), BLOCK_SIZE, (value) => onNumber(value.n))
  },
  {
    name: 'readline and JSON.parse',
    note: "a file of lines, through the 'line' events of readline",
    peer: jsonLines,
    read: (folder, onNumber) => new Promise((resolve, reject) => {
      const input = fs.createReadStream(path.join(folder, 'records.jsonl')).on('error', reject)
      readline.createInterface({ input, crlfDelay: Infinity }).on('line', (line) => onNumber(JSON.parse(line).n)).on('close', resolve)
    })
  },
  {
    name: 'flumelog-offset, JSON',
    peer: flumelogOffset,
    read: (folder, onNumber) => withLog(flumelogOffset, folder, { codec: json }, (log) => drain(log.stream(), ({ value }) => onNumber(value.n)))
  },
  {
    name: 'async-append-only-log, JSON',
    peer: asyncAppendOnlyLog,
    read: (folder, onNumber) => withLog(asyncAppendOnlyLog, folder, { codec: json }, (log) => drainPush(log.stream({}), ({ value }) => onNumber(value.n)))
  },
  {
    name: 'scan of JSON, parsed',
    note: 'scan, and JSON.parse(block.utf8Slice(start, end))',
    peer: ours,
    read: (folder, onNumber) => withLog(ours, folder, {}, (log) => scan(log, (block, start, end) => onNumber(JSON.parse(block.utf8Slice(start, end)).n)))
  },
  {
    name: 'scan of bipf, one field sought in place',
    note: 'the same records encoded with bipf; scan, seekKey and decode of one field',
    make: makeBipf,
    read (folder, onNumber) {
      const { seekKey, decode } = require('bipf')
      const key = Buffer.from('n')
      return withLog(ours, folder, {}, (log) => scan(log, (block, start) => onNumber(decode(block, seekKey(block, start, key)))))
    }
  },
  {
    name: 'stream of bipf, decoded',
    note: 'the same records, with bipf as the codec',
    make: makeBipf,
    read (folder, onNumber) {
      const { allocAndEncode, decode } = require('bipf')
      const codec = { encode: allocAndEncode, decode: (data) => decode(data, 0), buffer: true }
      return withLog(ours, folder, { codec }, (log) => drain(log.stream(), ({ value }) => onNumber(value.n)))
    }
  }
]

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const count = counts[size]
  return [{
    name: 'a field of all records',
    rows: rows.map(({ name, note, peer, make, read }) => ({
      name,
      note,
      input: make === undefined ? stored(peer, count) : { name: 'bipf', make: (folder) => make(folder, count) },
      run: ({ input }) => timeReads(count, async () => ({ read: (onRecord) => readNumbers(input, read, onRecord), close: async () => {} }))
    }))
  }]
}

/** Checks that the records come in order. */
function readNumbers (folder, read, onRecord) {
  let expected = 0
  return read(folder, (n) => {
    if (n !== expected++) throw new Error(`got record ${n} instead of ${expected - 1}`)
    onRecord()
  })
}

/** Opening is part of the time, which is short compared with reading. */
async function withLog (peer, folder, options, read) {
  const log = peer.create(folder, options)
  await new Promise((resolve, reject) => peer.isReady(log, (err) => err ? reject(err) : resolve()))
  await read(log)
  if (log.close) await new Promise((resolve, reject) => log.close((err) => err ? reject(err) : resolve()))
}

function scan (log, onRecord) {
  return new Promise((resolve, reject) => log.scan({}, onRecord, (err) => err ? reject(err) : resolve()))
}

async function makeBipf (folder, count) {
  const { allocAndEncode } = require('bipf')
  const make = recordMaker()
  const { log, close } = await ours.open(folder)
  for (let n = 0; n < count;) {
    const batch = []
    for (; batch.length < 1000 && n < count; n++) batch.push(allocAndEncode(JSON.parse(make(n))))
    await new Promise((resolve, reject) => log.append(batch, (err) => err ? reject(err) : resolve()))
  }
  await close()
}

module.exports = { name: 'codecs', question: 'What does a codec cost?', groups }
