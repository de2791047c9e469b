'use strict'

// Readers in other processes see deletions that the log's file does not have yet.

const tape = require('tape')
const fs = require('fs')
const FlumeLog = require('../..')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { parseMetadata } = require('../../lib/storage/metadata-text')
const { pathFile } = require('../../lib/storage/path-file')
const { testFolder } = require('../helpers/folder')
const { until, published } = require('../helpers/followers')
const { promises } = require('../helpers/promises')
const { codeOf, collect } = require('../helpers/reading')

const BLOCK_SIZE = 512
const data = (i) => Buffer.alloc(100, i + 1)
const indexes = async (log) => (await collect(log.log, { seqs: false })).map(value => value[0] - 1)
const upTo = (count, deleted = []) => Array.from({ length: count }, (_, i) => i).filter(i => !deleted.includes(i))

/** What FILE.meta says. */
const metadataIn = (file) => parseMetadata(fs.readFileSync(file + '.meta', 'latin1')).metadata

/** A reader that notices nothing between `sleep` and `wake`, like one whose process is busy. */
function sleeper (file, options) {
  const made = pathFile(file, { readOnly: true, lock: false })
  let awake = Promise.resolve()
  let wake = () => {}
  const { metadata } = made
  const read = metadata.read.bind(metadata)
  metadata.read = () => awake.then(read)
  const log = promises(createLog(made, settingsOf({ ...options, readOnly: true })))
  const sleep = () => { awake = new Promise(resolve => { wake = resolve }) }
  return { log, sleep, wake: () => wake() }
}

for (const checksum of [true, false]) {
  // the recovery point moves up with almost every append
  const options = { blockSize: BLOCK_SIZE, checksum, sync: 'always', syncBytes: 4 }
  const opened = async (t, count = 20) => {
    const file = testFolder(t)('log')
    const writer = promises(FlumeLog(file, options))
    const seqs = []
    for (let i = 0; i < count; i++) seqs.push(await writer.append(data(i)))
    await published(file, seqs.at(-1))
    return { file, writer, seqs }
  }
  const how = checksum ? 'with checksums' : 'without checksums'
  const shows = async (reader, expected) => {
    for (;;) {
      const found = await indexes(reader)
      if (found.join() === expected.join()) return
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }

  tape(`a busy reader of a closed log learns of a deletion by a writer that came and went: ${how}`, async (t) => {
    const { file, writer, seqs } = await opened(t)
    await writer.close()
    const { log: reader, sleep, wake } = sleeper(file, options)
    t.deepEqual(await indexes(reader), upTo(20))
    sleep()
    const next = promises(FlumeLog(file, options))
    await next.del([seqs[1], seqs[19]])
    await next.close()
    wake()
    await shows(reader, upTo(20, [1, 19]))
    t.equal(await codeOf(reader.get(seqs[1])), 'flumelog:deleted')
    await reader.close()
  })

  tape(`a reader keeps blocks in memory while the recovery point moves up: ${how}`, async (t) => {
    const { file, writer, seqs } = await opened(t)
    const { log: reader } = sleeper(file, options)
    await writer.del(seqs[1])
    await shows(reader, upTo(20, [1]))
    const { misses } = reader.log.stats().cache
    const before = metadataIn(file).end
    // the deletion is dropped, too, which the reader has seen
    while (metadataIn(file).end === before) {
      const seq = await writer.append(data(20))
      await until(() => reader.log.since.value === seq)
    }
    await reader.get(seqs[8])
    t.equal(reader.log.stats().cache.misses, misses)
    await Promise.all([reader.close(), writer.close()])
  })
}
