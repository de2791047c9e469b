'use strict'

// What the tests of readers beside a writer share: writers that number their records,
// readers whose polls can be delayed, and readers in processes of their own.

const fs = require('fs')
const path = require('path')
const FlumeLog = require('../..')
const layout = require('../../lib/format/layout')
const { createLog } = require('../../lib/log')
const { pathFile } = require('../../lib/storage/path-file')
const { MetadataFile } = require('../../lib/storage/metadata-file')
const { settingsOf } = require('../../lib/options')
const { metadataOf } = require('./left-metadata')
const { start } = require('./processes')
const { numbered, sizeOf } = require('./numbered')
const { promises } = require('./promises')
const { event, until } = require('./reading')

/** A writer in this process, which numbers its records. */
function writerOf (file, options, first = 1, size = undefined) {
  const log = promises(FlumeLog(file, options))
  const most = layout.maxRecordSize(options.blockSize ?? 65536, options.checksum ?? true)
  const writer = {
    log,
    number: first - 1,
    append (count) {
      const batch = Array.from({ length: count }, () => {
        const number = ++writer.number
        return numbered(number, size === undefined ? sizeOf(number, most) : size(number))
      })
      return log.append(count === 1 ? batch[0] : batch)
    },
    close: () => log.close()
  }
  return writer
}

/**
 * A reader whose polls can be delayed.
 * @param {string} file
 * @param {() => Promise<void>} beforePoll
 */
function watched (file, beforePoll, options = {}) {
  const made = pathFile(file, { readOnly: true, lock: false })
  const { metadata, checkPath } = made
  const peek = metadata.peek.bind(metadata)
  metadata.peek = () => beforePoll().then(peek)
  return createLog(Object.assign(made, { checkPath: (cb) => beforePoll().then(() => checkPath(cb)) }), settingsOf({ readOnly: true, ...options }))
}

/**
 * FILE.meta of a writer that the test plays itself: what it writes to the log, it writes with `fs`.
 * @param {import('tape').Test} t when it ends, the writer is gone
 * @param {string} file
 * @param {number} [blockSize]
 */
function playedWriter (t, file, blockSize) {
  const metadata = new MetadataFile(file + '.meta', path.dirname(file), () => fs.promises.stat(file))
  t.teardown(() => metadata.release())
  const current = (more) => metadataOf(fs.readFileSync(file), { blockSize, ...more })
  return {
    async write ({ acknowledged, ...more }) {
      metadata.acknowledged = acknowledged
      await metadata.replace(await current(more))
    },
    publish: (acknowledged) => metadata.publish(acknowledged),
    async close () {
      const { end, tie } = await current()
      metadata.append({ end, tie, closed: true })
      metadata.release()
    },
    release: () => metadata.release()
  }
}

/** Tells nobody of changes. */
const noWatch = () => ({ hold () {}, metadataReplaced () {}, logReplaced () {}, stop () {} })

/**
 * Resolves when readers beside the writer see the log up to a record. A writer tells them in a turn of the
 * event loop after the one in which it acknowledges that; on Bun and Deno it may be a later one.
 * @param {string} file
 * @param {number} seq
 */
async function published (file, seq) {
  for (let last = -1; last < seq;) {
    await event(setTimeout)
    const reader = promises(FlumeLog(file, { readOnly: true }))
    await reader.onReady()
    last = reader.log.since.value
    await reader.close()
  }
}

/** @param {Buffer} record */
function frame (record) {
  const bytes = Buffer.alloc(record.length + layout.FRAME_SIZE)
  layout.writeRecord(bytes, 0, record)
  return bytes
}

const follow = (t, file, more = {}) => start(t, 'follow.js', { file, options: {}, ...more })

/** Resolves when a follower has seen a record, or a later one. */
const isAt = (wanted) => async (follower) => {
  const message = await follower.message(({ what, number }) => (what === 'at' && number >= wanted) || ['ended', 'refused'].includes(what))
  if (message.what !== 'at') throw new Error(`the follower ended before it saw record ${wanted}: ${message.message ?? message.code}`)
  return message
}

function summary ({ messages }) {
  const told = messages.filter(({ what }) => what === 'at')
  return {
    count: told.at(-1)?.count ?? 0,
    missing: told.flatMap(({ missing }) => missing),
    wrong: messages.filter(({ what }) => what === 'wrong').map(({ why }) => why)
  }
}

module.exports = { noWatch, writerOf, watched, playedWriter, until, published, frame, follow, isAt, summary }
