'use strict'

// The files beside a log that belong to its compaction.

const fs = require('fs')
const path = require('path')
const { nullIfMissing } = require('../storage/directory')
const { OffsetMap, SUFFIX } = require('./offset-map')

/**
 * Offsets for what is appended meanwhile: seqs from before the compaction are in front of all since. At least so many, or as many as the
 * log has bytes; if that is not enough, the compaction starts again with so many times as many.
 */
const MIN_HEADROOM = 4 * 1024 * 1024
const MORE_HEADROOM = 8
/** Bytes that are free on a disk on which a copy may stay. */
const LEAST_ROOM = 16 * 1024 * 1024

/** @param {string} log its path */
function filesOf (log) {
  return { unfinished: log + '.compacting', unfinishedMap: log + '.compacting.map', map: log + SUFFIX }
}

/**
 * Removes what a compaction has left that did not come to its end. Only the writer of the log may.
 * @param {string} log its path
 */
async function removeUnfinished (log) {
  const { unfinished, unfinishedMap } = filesOf(log)
  for (const name of [unfinished, unfinishedMap]) await fs.promises.unlink(name).catch(nullIfMissing)
}

/**
 * The same, on a disk that is nearly full: the log needs the space, and could not be opened, or written.
 * @param {string} log its path
 */
async function makeRoom (log) {
  // quick, and the rule: opening a log should take no longer than that of others
  if (!fs.existsSync(filesOf(log).unfinished)) return
  const copy = await fs.promises.stat(filesOf(log).unfinished).catch(() => null)
  if (copy === null) return
  const { bavail, bsize } = await fs.promises.statfs(path.dirname(log))
  if (bavail * bsize < LEAST_ROOM) await removeUnfinished(log)
}

/**
 * The same, if the next compaction can make no use of it.
 * @param {string} file path of the log
 * @param {Log} log
 */
async function removeUseless (file, log) {
  const { unfinished, unfinishedMap } = filesOf(file)
  if (!fs.existsSync(unfinished) && !fs.existsSync(unfinishedMap)) return
  const map = await OffsetMap.openFile(unfinishedMap).catch(() => null)
  map?.close()
  if (map === null || !isUsable(map, log)) await removeUnfinished(file)
}

/**
 * @typedef {object} Log
 * @property {string} id
 * @property {{ blockSize: number, start: number }} blocks
 * @property {number} end
 */

/**
 * @param {{ previousId: string | null, base: number }} map of an interrupted compaction
 * @param {Log} log
 * @returns {boolean} whether the offsets of the copy can still be those of the log
 */
function isUsable ({ previousId, base }, { id, blocks: { blockSize, start }, end }) {
  const room = base - end
  return previousId === id && base % blockSize === 0 && room >= MIN_HEADROOM / 2 && room <= MORE_HEADROOM * Math.max(MIN_HEADROOM, end - start)
}

module.exports = { MIN_HEADROOM, MORE_HEADROOM, filesOf, isUsable, makeRoom, removeUnfinished, removeUseless }
