'use strict'

// What the writer of a log knows of its file, when the log moves to another one.

const { RecordCount } = require('../write/record-count')

/**
 * @param {import('../write/writer').Writer} writer that writes nothing, and whose blocks are those of the new file already
 * @param {import('./compacted-file').CompactedFile} target which is durable
 * @param {import('./offset-map').OffsetMap} map
 * @param {(offset: number) => number} moveOffset where an offset is in the new file at which records end
 */
function moveWriter (writer, target, map, moveOffset) {
  const { appender, durability, counts, deleter, trimmer } = writer
  const { lastSeq, forced } = appender
  const before = writer.acknowledged
  const distance = moveOffset(before + 1) - before - 1
  appender.waiters.move(moveOffset, (seq) => seq <= lastSeq ? target.lastSeq : seq + distance)
  appender.lastSeq = writer.toldSeq = target.lastSeq
  appender.forced = forced > before ? moveOffset(forced) : -1
  writer.written = writer.acknowledged = writer.target = target.end
  durability.moveTo(target.end)
  counts.synced = { ...counts.written }
  writer.recordCount = new RecordCount({ records: target.records, estimate: target.records }, writer.blocks)
  deleter.moveRequests(map)
  trimmer.moveFile(writer.blocks.start, (offset) => map.up(offset))
}

module.exports = { moveWriter }
