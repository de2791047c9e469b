'use strict'

// One pull-stream source from several: each item as soon as it is there, and those of one source in its order.

/** Answers that may be nested, each given from within the callback of the one before, until the next gets a new stack: the sources have answered by then. */
const MAX_DEPTH = 64

/**
 * @template I
 * @typedef {((abort: any, cb: (end: any, item?: any) => void) => void) & { unread?: () => void }} Source `unread` says that the item that it gave last was not passed on
 */

/**
 * @template I
 * @param {Source<I>[]} sources of which an item each is asked for ahead
 * @param {number} [limit] after so many items it ends
 * @returns {Source<I>} ends when all have ended, or with the first error
 */
function merge (sources, limit = Infinity) {
  /** Items that are there, and the sources that gave them. @type {{ index: number, item: I }[]} */
  const items = []
  /** Those that have not ended. */
  const open = new Set(sources.keys())
  let isStarted = false
  let left = limit
  let depth = 0
  /** @type {any} */
  let end = null
  /** @type {((end: any, item?: any) => void) | null} */
  let waiting = null

  /** @param {number} index */
  const read = (index) => sources[index](null, (ended, item) => {
    if (!ended && end === null) items.push({ index, item })
    else if (!ended) sources[index].unread?.()
    else {
      open.delete(index)
      if (ended !== true) stop(ended)
    }
    answer()
  })

  /** @param {any} reason */
  const stop = (reason) => {
    end ??= reason
    for (const { index } of items.splice(0)) sources[index].unread?.()
    for (const index of open) sources[index](true, () => {})
    open.clear()
  }

  const answer = () => {
    if (waiting === null) return
    const cb = waiting
    const first = items.shift()
    if (first !== undefined) {
      waiting = null
      if (--left === 0) stop(true)
      else if (open.has(first.index)) read(first.index)
      cb(null, first.item)
    } else if (end !== null || open.size === 0) {
      waiting = null
      cb(end ?? true)
    }
  }

  return (abort, cb) => {
    if (abort) {
      stop(abort)
      answer()
      if (cb) cb(abort)
      return
    }
    waiting = cb
    if (depth === MAX_DEPTH) return process.nextTick(answer)
    depth++
    try {
      if (!isStarted && end === null) {
        isStarted = true
        for (const index of [...open]) read(index)
      }
      answer()
    } finally {
      depth--
    }
  }
}

/**
 * @param {unknown} err
 * @returns {Source<any>} that gives nothing else
 */
function failed (err) {
  return (abort, cb) => { if (cb) cb(abort || err) }
}

module.exports = { failed, merge }
