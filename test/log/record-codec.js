'use strict'

// Codecs that decode text get it straight from the block that holds the record: the text must be what `toString` of the
// record gives, for any bytes and through any reader.

const tape = require('tape')
const fc = require('fast-check')
const layout = require('../../lib/format/layout')
const { textOf } = require('../../lib/read/block-text')
const { open } = require('../../promises')
const { newFile } = require('../helpers/folder')
const { collect, collectSource, isSame } = require('../helpers/reading')

/** Text of all kinds, and bytes that are no text: cut sequences, byte order marks, surrogates, overlong forms. */
const PIECES = ['a', 'é', '€', '😀', '\ufeff', '\0', '{"a":1}'].map(text => Buffer.from(text))
  .concat([[0x80], [0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x98], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xff, 0xfe]].map(bytes => Buffer.from(bytes)))

const someBytes = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 60 }).map(Buffer.from),
  fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 12 }).map(Buffer.concat)
)
const storable = someBytes.filter(layout.isStorable)

tape('text of a part of a block is what toString of that part gives', (t) => {
  fc.assert(fc.property(someBytes, someBytes, someBytes, (before, bytes, after) => {
    const block = Buffer.concat([before, bytes, after])
    const end = before.length + bytes.length
    return layout.text(block, before.length, end) === bytes.toString()
  }), { numRuns: 2000 })
  t.pass('for any bytes')
  t.end()
})

tape('a codec with buffer: false is given the record as toString makes text of it, by each reader', async (t) => {
  const codec = { encode: data => data, decode: text => ({ text }), buffer: false }
  await fc.assert(fc.asyncProperty(fc.array(storable, { minLength: 1, maxLength: 20 }), fc.constantFrom(128, 4096), async (records, blockSize) => {
    const log = await open(newFile(), { codec, blockSize, cacheSize: 0 })
    const live = collect(log.flumelog, { old: false, seqs: false, limit: records.length })
    await log.append(records)
    const wanted = records.map(data => ({ text: data.toString() }))
    const seqs = await collect(log.flumelog, { values: false })
    const found = [
      await collect(log.flumelog, { seqs: false }),
      (await collect(log.flumelog, { seqs: false, reverse: true })).reverse(),
      await live,
      await Promise.all(seqs.map(seq => log.get(seq))),
      await Promise.all([...seqs.slice(1), log.flumelog.stats().size].map(seq => log.getPrevious(seq).then(({ value }) => value))),
      await Promise.all(seqs.map(seq => log.search((_, at) => at - seq).then(({ value }) => value)))
    ]
    await log.close()
    return found.every(values => isSame(values, wanted))
  }), { numRuns: 50 })
  t.pass('stream, get, getPrevious and search')
})

tape('JSON.parse as it is gives the same as a function that is given the Buffer and calls it', async (t) => {
  const text = fc.oneof(fc.json(), fc.json().map(text => '\ufeff' + text), fc.string({ minLength: 1 }))
  const records = fc.array(fc.oneof(text.map(text => Buffer.from(text)), storable).filter(layout.isStorable), { minLength: 1 })
  await fc.assert(fc.asyncProperty(records, async (records) => {
    const [asItIs, called] = await Promise.all([JSON.parse, (data) => JSON.parse(data)].map(async (decode) => {
      const log = await open(newFile(), { codec: { encode: data => data, decode } })
      await log.append(records)
      const skipped = []
      const given = await collect(log.flumelog, { skipCorrupt: true, onSkip: ({ start, error }) => skipped.push([start, error.cause.message]) })
      await log.close()
      return { given, skipped }
    }))
    return asItIs.given.length + asItIs.skipped.length === records.length && isSame(asItIs, called)
  }), { numRuns: 200 })
  t.pass('for any text and any bytes')
})

tape('records of blocks that are decoded as a whole are what each of them is by itself', async (t) => {
  // long blocks of short records, most of them ASCII; lengths of 128 and more are not
  const text = fc.oneof({ weight: 200, arbitrary: fc.stringMatching(/^[ -~]{0,9}$/) }, { weight: 5, arbitrary: fc.stringMatching(/^[a-z]{128,300}$/) }, { weight: 1, arbitrary: fc.string({ unit: 'grapheme' }) })
  const records = fc.array(text, { minLength: 1, maxLength: 1000 })
  await fc.assert(fc.asyncProperty(records, fc.constantFrom(512, 4096), fc.func(fc.boolean()), fc.constantFrom(0, 10000), async (records, blockSize, isDeleted, cacheSize) => {
    const log = await open(newFile(), { codec: { encode: JSON.stringify, decode: JSON.parse }, blockSize, cacheSize })
    await log.append(records)
    const seqs = await collect(log.flumelog, { values: false })
    const wanted = seqs.map((seq, i) => ({ seq, value: records[i] }))
    if (!isSame(await collect(log.flumelog), wanted)) return false
    if (!isSame((await collect(log.flumelog, { reverse: true })).reverse(), wanted)) return false
    if (!isSame((await collectSource(log.flumelog.batches())).flat(), wanted)) return false
    // a reader in the middle of a block, which a deletion replaces
    const deleted = new Set(seqs.filter((_, i) => i % 50 === 40 && isDeleted(i)))
    const read = []
    for await (const record of log.stream()) {
      if (!isSame(record, wanted[seqs.indexOf(record.seq)])) return false
      read.push(record.seq)
      if (deleted.has(seqs[read.length + 5])) await log.del(seqs[read.length + 5])
    }
    await log.close()
    return isSame(read, seqs.filter(seq => !deleted.has(seq)))
  }), { numRuns: 60 })
  t.pass('in both directions, in batches, and while records are deleted')
})

tape('the text of a block has each record at its positions, if all are ASCII', (t) => {
  const block = Buffer.alloc(64)
  const length = layout.writeRecord(block, layout.writeRecord(block, 0, Buffer.from('{"n":1}')), Buffer.from('"x"'))
  const text = textOf(block, length)
  t.deepEqual([text.slice(2, 9), text.slice(13, 16), text.length], ['{"n":1}', '"x"', length])
  t.equal(block.readUInt16LE(0), 7, 'the block is left as it is')
  t.equal(textOf(block, layout.writeRecord(block, length, Buffer.from('"é"'))), null)
  t.end()
})

tape('a codec that is not known to need text is given a Buffer', async (t) => {
  const given = []
  const decode = (data) => { given.push(Buffer.isBuffer(data)); return JSON.parse(data) }
  const log = await open(newFile(), { codec: { encode: JSON.stringify, decode } })
  const seq = await log.append({ n: 1 })
  await collect(log.flumelog)
  await log.get(seq)
  await log.search(() => 0)
  t.deepEqual(given, [true, true, true])
  await log.close()
})
