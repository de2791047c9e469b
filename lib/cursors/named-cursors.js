'use strict'

// The cursors of a log: those that this process holds, and the files of all.

const fs = require('fs')
const errors = require('../errors')
const { callBack, mustBeFunction, promised } = require('../callbacks')
const { optionNames } = require('../option-names')
const { replaceable } = require('../replaceable')
const { BatchStream } = require('../read/batch-stream')
const { Stream } = require('../read/stream')
const { readCursor, syncCursor } = require('./cursor-file')
const { cursorNames, cursorPath } = require('./cursor-name')
const { NamedCursor } = require('./named-cursor')
const { positionIn } = require('./generation')
const { FIRST_ID } = require('../recovery/recovery-point')
const { OffsetMap } = require('../space/offset-map')
const { syncFolder } = require('../storage/directory')

/**
 * @typedef {import('../types').Done} Done
 * @typedef {import('./cursor-text').Position} Position
 * @typedef {import('../types').Cursor<any>} Cursor
 * @typedef {import('../types').CursorInfo} CursorInfo
 */

const checkNames = optionNames('cursor', [])

class NamedCursors {
  /**
   * @param {import('../log').Log} log
   * @param {import('../clock').Clock} clock
   */
  constructor (log, clock) {
    this.log = log
    this.clock = clock
    /** Those that are open, or being opened or closed, by name. @type {Map<string, { cursor: NamedCursor, members: Cursor }>} */
    this.held = new Map()
    /** Where another process writes the log: up to here it is durable. */
    this.durableEnd = 0
    /** The id that the log durably has. */
    this.durableId = FIRST_ID
    /** Of the last compaction, if a cursor is from before it. @type {OffsetMap | null} */
    this.foundMap = null
  }

  /** That of the log, which changes with each compaction. */
  get id () {
    return String(this.log.compacting.id)
  }

  /** Of the last compaction, if there was one since the log was opened, or a cursor is from before it. @returns {OffsetMap | null} */
  get map () {
    return this.log.compacting.map ?? this.foundMap
  }

  /** @param {string} id of the log that a position is in */
  async findMap (id) {
    if (id === this.id || this.map !== null) return
    const map = await OffsetMap.open(this.path, this.id)
    // another cursor may have found one meanwhile
    this.foundMap?.close()
    this.foundMap = map
  }

  /**
   * The log is another file now: no cursor may miss that, since there is no way from a log to the one after the next.
   * @param {OffsetMap} map
   */
  move (map) {
    for (const { cursor } of this.held.values()) cursor.move(map)
  }

  /**
   * @param {string} name
   * @param {unknown} [options] none: those of a log in a stream (flumelog-jetstream) would have no effect
   * @returns {Cursor} the same one for as long as it is not closed
   * @throws flumelog:invalid
   */
  get (name, options) {
    checkNames(options ?? {})
    const filename = cursorPath(this.path, name)
    const held = this.held.get(name)
    if (held !== undefined && held.cursor.closing === null) return held.members
    const previous = held === undefined ? Promise.resolve() : new Promise(resolve => held.cursor.close(resolve))
    const cursor = new NamedCursor(this, name, filename, previous)
    const members = membersOf(cursor)
    if (cursor.refusal === null) this.held.set(name, { cursor, members })
    return members
  }

  get path () {
    return this.log.file.location.path
  }

  /** @param {NamedCursor} cursor that is closed, or could not be opened */
  forget (cursor) {
    if (this.held.get(cursor.name)?.cursor === cursor) this.held.delete(cursor.name)
  }

  /** @param {(err: Error | null, cursors: CursorInfo[]) => void} cb */
  list (cb) {
    mustBeFunction('the callback', cb)
    callBack(promised(done => this.log.whenOpen(done)).then(() => this.readAll()), cb)
  }

  /** @returns {Promise<CursorInfo[]>} */
  async readAll () {
    const files = await this.readFiles()
    const { id, path } = this
    const map = await OffsetMap.open(path, id)
    try {
      return files.map(({ name, position, isHeld }) => ({ name, seq: position && positionIn(position, id, map).seq, held: isHeld }))
    } finally {
      map?.close()
    }
  }

  /** The files of all cursors. */
  async readFiles () {
    const { path, log: { file: { location } } } = this
    const names = cursorNames(path, await fs.promises.readdir(/** @type {import('../storage/location').Location} */ (location).folder))
    const files = []
    for (const name of names) {
      const found = await readCursor(cursorPath(path, name))
      // it may have been deleted meanwhile
      if (found !== null) files.push({ name, ...found })
    }
    return files
  }

  /**
   * Before a compaction, and after it: the files of all cursors say durably where their records are since the last one. There is no way
   * to where they are since the one after that. Those that other processes hold are theirs to write.
   */
  async moveAll () {
    for (const { name, position, isHeld } of await this.readFiles()) {
      if (position === null) continue
      const filename = cursorPath(this.path, name)
      let held = this.held.get(name)?.cursor
      // its file may be closed already, in which case it stores nothing more; or another process holds it, and it cannot be opened
      for (; held !== undefined && (held.closing !== null || !held.isOpen); held = this.held.get(name)?.cursor) {
        await (held.closing === null ? held.opening.catch(() => {}) : new Promise(resolve => held?.close(resolve)))
      }
      if (held !== undefined) await promised(cb => held.enqueue(null, { sync: true }, cb))
      // one that nobody holds is written again: its last fsync may have failed
      else if (isHeld && position.id === this.id) await syncCursor(filename)
      else await this.moveFile(name, filename)
    }
  }

  /**
   * @param {string} name of a cursor that nobody holds
   * @param {string} filename
   */
  async moveFile (name, filename) {
    const cursor = new NamedCursor(this, name, filename, Promise.resolve(), false)
    // another process may hold it by now, or have deleted it; otherwise it would be lost in the compaction after this one
    await cursor.opening.catch((err) => { if (err.code !== 'flumelog:locked' && err.code !== 'ENOENT') throw err })
    await promised(cb => cursor.close(cb))
  }

  /**
   * Before a cursor says that a record is done, a power cut must not be able to take it: another one could get its offset.
   * @param {() => Position} position of a record that readers see; another one after a compaction
   */
  async makeDurable (position) {
    for (let id = null; id !== this.id;) {
      id = this.id
      await this.makeIdDurable()
      // one of another generation has no offset in this file. Up to `next`: if the end of a block that was sealed after the record is not durable,
      // a power cut leaves it unsealed
      if (position().id === this.id) await this.makeRecordDurable(position().next - 1)
    }
  }

  /** A compaction renames its file to the log's name: until that is durable, a power cut can bring the log before it back. */
  async makeIdDurable () {
    const { id, log: { file: { location } } } = this
    if (id === this.durableId) return
    await syncFolder(/** @type {import('../storage/location').Location} */ (location).folder)
    this.durableId = id
  }

  /** @param {number} seq of a record, or the last offset of its block */
  async makeRecordDurable (seq) {
    const { opened } = this.log.state
    const { writer, follower } = /** @type {import('../opening').Opened} */ (opened)
    if (follower === null) {
      const { durability } = /** @type {import('../write/writer').Writer} */ (writer)
      durability.noteSynced()
      if (seq >= durability.recoveryPoint) await promised(cb => durability.syncTo(durability.acknowledged, cb))
    } else if (seq >= this.durableEnd) {
      const { file, reading: { blocks: { end } } } = this.log
      // an fsync is of the file, whichever process has written it; what readers see is acknowledged
      await promised(cb => file.sync(cb)).catch((err) => { throw errors.failed(file.filename, err) })
      this.durableEnd = Math.max(this.durableEnd, end)
    }
  }

  /**
   * The log is closing: commits are stored, and all cursors released.
   * @param {Done} cb
   */
  close (cb) {
    callBack(this.closeAll(), cb)
  }

  /** @returns {Promise<void>} rejects with the first error */
  async closeAll () {
    const closed = await Promise.allSettled([...this.held.values()].map(({ cursor }) => promised(cb => cursor.close(cb, false))))
    this.foundMap?.close()
    for (const result of closed) if (result.status === 'rejected') throw result.reason
  }
}

/**
 * @param {NamedCursor} cursor
 * @returns {Cursor} the members that callers have: ordinary properties, which may be called by themselves
 */
function membersOf (cursor) {
  /** @type {Omit<Cursor, 'seq'>} */
  const members = {
    name: cursor.name,
    stream: (/** @type {any} */ options) => cursor.reader.source(Stream, 'stream', options),
    batches: (/** @type {any} */ options) => cursor.reader.source(BatchStream, 'batches', options),
    commit: (/** @type {number} */ seq, /** @type {any} */ options, /** @type {any} */ cb = undefined) => cursor.commit(seq, options, cb),
    onReady: (cb) => cursor.onReady(/** @type {any} */ (cb)),
    close: (cb) => cursor.close(cb)
  }
  return /** @type {Cursor} */ (Object.defineProperty(members, 'seq', replaceable('seq', () => cursor.seq)))
}

module.exports = { NamedCursors }
