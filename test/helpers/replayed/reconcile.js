'use strict'

// What a log's file holds after it was closed, or after a crash, against the model.

const { isHole } = require('../../../lib/format/hole')
const layout = require('../../../lib/format/layout')
const { endOfRecords } = require('../../../lib/format/validation')
const { LAST, PART, indexAt, joinAll, kindOf } = require('../../../lib/format/chunk')

/**
 * @typedef {import('./model').Model} Model
 * @typedef {import('./model').Record} Record
 * @typedef {{ seq: number, data: Buffer, isDeleted: boolean, end?: number }} Frame `end`: of a hole, in which there were others
 */

/**
 * @param {Buffer} bytes of a log that has been recovered
 * @param {number} blockSize
 * @param {(message: string) => void} violate
 * @param {number} [first] where the log starts
 * @returns {Frame[]} its records, the deleted ones too
 */
function framesOf (bytes, blockSize, violate, first = 0) {
  const frames = []
  if (!bytes.subarray(blockSize, first).every(byte => byte === 0)) violate(`there is something before the log's start at ${first}`)
  for (let start = first; start < bytes.length; start += blockSize) {
    const block = bytes.subarray(start, start + blockSize)
    const end = block.length === blockSize ? layout.paddingStart(block) : block.length
    if (endOfRecords(block, 0, Math.min(end, block.length)) !== end) {
      violate(`the block at ${start} is corrupt`)
      continue
    }
    if (block.length === blockSize && isHole(block)) {
      frames.push({ seq: start, data: Buffer.alloc(0), isDeleted: true, end: start + blockSize })
      continue
    }
    for (let position = 0; position < end; position = layout.nextPosition(block, position)) {
      frames.push({ seq: start + position, data: Buffer.from(layout.dataAt(block, position)), isDeleted: layout.isDeleted(block, position) })
    }
  }
  return frames
}

/**
 * @param {Model} model
 * @param {Frame[]} frames
 * @param {object} how the log ended
 * @param {number} [how.start] where the log starts
 * @param {boolean} how.isCrash the power went
 * @param {boolean} how.isCertain false: what failed may be there, since the log could not be closed without an error
 * @param {boolean} how.hasFaults operations have failed, so that appends may have been rolled back that nobody was told of
 */
function reconcile (model, frames, { isCrash, isCertain, hasFaults, start = 0 }) {
  if (start < model.trimmedTo) model.violate(`the log was trimmed to ${model.trimmedTo}, and starts at ${start}`)
  if (start > model.trimmingTo) model.violate(`the log was to be trimmed to ${model.trimmingTo}, and starts at ${start}`)
  const found = matchFrames(model, frames)
  const firstFound = Math.min(Infinity, ...found.keys())
  // one that is not acknowledged does not know where it is
  const isTrimmed = (/** @type {Record} */ { seq, number }) => seq !== undefined ? seq < start || seq === model.cutOff : start > 0 && number < firstFound
  const lastFound = Math.max(-1, ...found.keys())
  let previous = -1
  for (const record of model.records) {
    const frame = found.get(record.number)
    if (frame === undefined) checkMissing(model, record, { isCrash, hasFaults, isBefore: record.number < lastFound, isTrimmed: isTrimmed(record) })
    else {
      if (frame.seq <= previous) model.violate(`record ${record.number} stands before an earlier one`)
      previous = frame.seq
      checkFound(model, record, frame, isCertain && !isCrash)
    }
  }
  if (isCrash) checkAtomic(model, found, isTrimmed)
  adopt(model, found)
}

/**
 * @param {Model} model
 * @param {Frame[]} frames
 * @returns {Map<number, Frame>} by the number of the record
 */
function matchFrames (model, frames) {
  const found = new Map()
  for (const frame of frames) {
    if (frame.end !== undefined) {
      matchHole(model, { seq: frame.seq, end: frame.end }, found)
      continue
    }
    const record = frame.isDeleted ? model.bySeq.get(frame.seq) : model.byNumber.get(numberOf(model, frame.data))
    if (record === undefined || !(frame.isDeleted || record.data.equals(frame.data))) model.violate(`what is at ${frame.seq} was never ${frame.isDeleted ? 'deleted' : 'appended'}`)
    else if (found.has(record.number)) model.violate(`record ${record.number} is there twice`)
    else found.set(record.number, frame)
  }
  return found
}

/**
 * All records of the block were deleted.
 * @param {Model} model
 * @param {{ seq: number, end: number }} hole
 * @param {Map<number, Frame>} found gets them
 */
function matchHole (model, { seq: start, end }, found) {
  for (const { seq, number, isFailed } of model.records) {
    if (seq >= start && seq < end && !isFailed) found.set(number, { seq, data: Buffer.alloc(0), isDeleted: true })
  }
}

/**
 * @param {Model} model
 * @param {Buffer} data
 * @returns {number | null} of the record that this is
 */
function numberOf ({ values }, data) {
  const { decode } = values.options.codec ?? { decode: () => data }
  try {
    return values.numberOf(decode(data))
  } catch {
    return null
  }
}

/**
 * @param {Model} model
 * @param {Record} record
 * @param {{ isCrash: boolean, hasFaults: boolean, isBefore: boolean, isTrimmed: boolean }} how
 */
function checkMissing (model, record, { isCrash, hasFaults, isBefore, isTrimmed }) {
  const name = `record ${record.number} at ${record.seq}`
  const isAcknowledged = record.acknowledgedAt < Infinity
  if (record.isFailed || isTrimmed) return
  if (record.isDurable) return model.violate(`${name} was synced, and is lost`)
  if (!isCrash && isAcknowledged) return model.violate(`${name} was acknowledged, and is lost`)
  if (!isCrash && record.isShown) return model.violate(`${name} was shown, and is lost`)
  if (isCrash && isBefore && (isAcknowledged || !(hasFaults || record.batch.mayBeRefused))) return model.violate(`${name} is lost, and a later one is there`)
  if (!isCrash && model.isSilentlyLost(record)) model.violate(`${name}, appended without a callback, is lost, and nobody was told`)
}

/**
 * @param {Model} model
 * @param {Record} record
 * @param {Frame} frame
 * @param {boolean} isCertain
 */
function checkFound (model, record, frame, isCertain) {
  const name = `record ${record.number} at ${frame.seq}`
  if (record.isFailed && isCertain) model.violate(`${name} is there, and its append got an error`)
  if (record.seq !== undefined && record.seq !== frame.seq && !record.isFailed) model.violate(`${name} was at ${record.seq}`)
  if (frame.isDeleted && record.deletingAt === Infinity) model.violate(`${name} is deleted, and nobody asked for that`)
  if (!frame.isDeleted && record.deletedAt < Infinity) model.violate(`${name} was deleted, and is there`)
}

/**
 * @param {Model} model
 * @param {Map<number, Frame>} found
 * @param {(record: Record) => boolean} isTrimmed
 */
function checkAtomic (model, found, isTrimmed) {
  for (const record of model.records) {
    const { batch, number } = record
    if (!batch.isAtomic || found.has(number) || isTrimmed(record)) continue
    if (model.records.some(other => other.batch === batch && found.has(other.number))) {
      return model.violate(`an atomic batch is there in part, without record ${number}`)
    }
  }
}

/**
 * What was found is what there is, from now on.
 * @param {Model} model
 * @param {Map<number, Frame>} found
 */
function adopt (model, found) {
  model.records = model.records.filter(({ number }) => found.has(number))
  model.byNumber = new Map(model.records.map(record => [record.number, record]))
  model.bySeq = new Map()
  model.reports = []
  model.successes = []
  for (const record of model.records) {
    const { seq, isDeleted } = found.get(record.number)
    Object.assign(record, { seq, isFailed: false, isDurable: true, acknowledgedAt: 0, deletingAt: isDeleted ? 0 : Infinity, deletedAt: isDeleted ? 0 : Infinity })
    model.bySeq.set(seq, record)
    model.lastSeq = seq
  }
  if (model.records.length === 0) model.lastSeq = -1
}

/**
 * @param {Frame[]} frames of a log with large records
 * @param {Model} model
 * @returns {Frame[]} the same, with each large record as a whole; parts without a last chunk, and deleted ones, are left out
 */
function wholeFrames (frames, model) {
  const whole = []
  frames.forEach((frame, i) => {
    const kind = frame.isDeleted ? 0 : kindOf(frame.data)
    if (kind === PART || (frame.isDeleted && frame.end === undefined && !model.bySeq.has(frame.seq))) return
    if (kind !== LAST) return whole.push(frame)
    const count = indexAt(frame.data, 0)
    if (count > i) {
      // its first parts were trimmed; of one that was deleted, the last ones may be left, also when the log is opened again
      const isThere = model.bySeq.get(frame.seq)?.deletingAt === Infinity
      if (frame.seq >= model.trimmingTo && isThere) model.violate(`the large record at ${frame.seq} has lost parts, and the log was to be trimmed to ${model.trimmingTo}`)
      model.cutOff = frame.seq
      return
    }
    const chunks = frames.slice(i - count, i + 1)
    if (chunks.some(({ isDeleted }) => isDeleted)) return whole.push({ ...frame, isDeleted: true })
    const [data] = joinAll(chunks.map(({ data }) => data))
    whole.push({ ...frame, data })
  })
  return whole
}

module.exports = { framesOf, reconcile, wholeFrames }
