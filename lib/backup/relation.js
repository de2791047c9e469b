'use strict'

// Shows that a file is a backup of a log though none of its records is at the same offset in the log.

const fs = require('fs')
const layout = require('../format/layout')
const { findProblem } = require('../format/validation')
const { readGeneration } = require('../space/log-id')
const { OffsetMap } = require('../space/offset-map')
const { formatLine, parseLine } = require('../format/lines')

/** Of the file beside a backup that says of which file it was made. */
const SUFFIX = '.backup-of'

/**
 * @param {import('./source-log').SourceLog} source
 * @param {string} name of the backup
 */
async function rememberSource (source, name) {
  const line = await lineFor(source, name)
  if (line === null || await readLine(name) === line) return
  // if it cannot be written, a later backup may have to be replaced
  await fs.promises.writeFile(`${name}${SUFFIX}.new`, formatLine(line), { mode: 0o600 })
    .then(() => fs.promises.rename(`${name}${SUFFIX}.new`, name + SUFFIX)).catch(() => {})
}

/**
 * @param {import('./source-log').SourceLog} source
 * @param {string} name of the backup
 * @returns {Promise<boolean>} whether this file was made as a backup of this log's file
 */
async function isKnownSource (source, name) {
  const line = await lineFor(source, name)
  return line !== null && await readLine(name) === line
}

/**
 * @param {import('./source-log').SourceLog} source
 * @param {string} name
 * @returns {Promise<string | null>} null: the log is in a storage
 */
async function lineFor ({ file }, name) {
  if (file.location === null) return null
  const [log, backup] = await Promise.all([file.location.path, name].map(async (path) => {
    const { dev, ino, birthtimeNs } = await fs.promises.stat(path, { bigint: true })
    return [dev, ino, birthtimeNs].map(String)
  }))
  return JSON.stringify({ log, backup })
}

/**
 * @param {string} name
 * @returns {Promise<string | null>}
 */
async function readLine (name) {
  const text = await fs.promises.readFile(name + SUFFIX, 'latin1').catch(() => '')
  return parseLine(text.split('\n')[0])
}

/**
 * @param {import('./source-log').SourceLog} source
 * @param {string} name of the backup
 * @param {import('../maintenance/extent').Extent} extent of it
 * @returns {Promise<boolean>} whether the log was compacted since: its offset map leads from a record of the backup to the same record
 */
async function isOfEarlierGeneration (source, name, extent) {
  const map = source.file.location === null ? null : await OffsetMap.open(source.file.location.path)
  if (map === null) return false
  try {
    if (map.base > source.start || map.previousId !== (await readGeneration(name, extent.start)).id) return false
    for await (const { seq, data } of recordsOf(extent)) {
      const now = map.at(seq)
      if (now === null || now < source.start || now >= source.end) continue
      const block = await source.block(Math.floor(now / source.blockSize))
      const position = now % source.blockSize
      // one is enough, since ids of logs that were never compacted are all the same, but records are not
      if (!layout.isDeleted(block, position)) return layout.dataAt(block, position).equals(data)
    }
    return false
  } finally {
    map.close()
  }
}

/**
 * @param {import('../maintenance/extent').Extent} extent
 * @returns {AsyncGenerator<{ seq: number, data: Buffer }, void, void>} those that are not deleted, the blocks from the last one on
 */
async function * recordsOf ({ start, end, blockSize, read }) {
  for (let offset = Math.floor((end - 1) / blockSize) * blockSize; offset >= start; offset -= blockSize) {
    const block = await read(offset, Math.min(blockSize, end - offset))
    const isFull = block.length === blockSize
    if (isFull && findProblem(block, true) !== null) continue
    const last = isFull ? layout.paddingStart(block) : block.length
    for (let position = 0; position < last; position = layout.nextPosition(block, position)) {
      if (!layout.isDeleted(block, position)) yield { seq: offset + position, data: layout.dataAt(block, position) }
    }
  }
}

module.exports = { isKnownSource, isOfEarlierGeneration, rememberSource }
