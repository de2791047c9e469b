'use strict'

// What a process that shares a log does when it has the lock: listens on the socket,
// recovers the log as any opening does, and opens it for writing, for itself and for others.

const { promised } = require('../callbacks')
const errors = require('../errors')
const { problemOf } = require('../read/get')
const { openBlocks } = require('../read/open-blocks')
const { recoverEnd } = require('../recovery/recover-end')
const { settleMap } = require('../space/offset-map')
const { retentionOf } = require('../space/retention')
const { removeUnfinished } = require('../space/unfinished-files')
const { Writer } = require('../write/writer')
const { KnownClients } = require('./known-clients')
const { Server } = require('./server')

/**
 * @typedef {import('../opening').Opened} Opened
 */

class Owner {
  /**
   * @param {import('../opening').Context} context
   * @param {import('../storage/promisified-file').Io} io
   */
  constructor (context, io) {
    const { file, clock } = context
    this.context = context
    this.io = io
    this.clients = new KnownClients(file.metadata, clock)
    this.server = new Server(this.clients, clock)
    /** Set when the log is open. @type {Writer} */
    this.writer = /** @type {any} */ (null)
    /** The last one that a client has asked for, if it has not failed. @type {{ compacted: Promise<import('../space/types').Compacted>, isRunning: boolean } | null} */
    this.compaction = null
  }

  /** @param {import('./address').Address} address where others find this process, and wait until the log is open */
  async listen (address) {
    const { server, context: { file } } = this
    server.listener = await address.listen(file.status(), socket => server.accept(socket))
  }

  /**
   * @param {Opened | null} before what there is of the log, if this process was a client
   * @returns {Promise<Pick<Opened, 'blocks' | 'reader' | 'cut' | 'recovered'> & { writer: Writer, id: string }>}
   */
  async open (before) {
    const { io, context, clients, server } = this
    const { file, settings, records, listeners, clock } = context
    const { path } = file.location
    // before it needs space: the disk may be full
    await removeUnfinished(path)
    const { checksum } = settings
    const wanted = before?.blocks.blockSize ?? settings.blockSize
    const { blockSize, found, cut, recovered, generation } = await recoverEnd(io, file.filename, { blockSize: wanted, checksum, isWhole: records.isWhole, large: settings.large })
    clients.load(found.kept)
    const { id, base } = generation
    await settleMap(path, id)
    const { blocks, reader } = before ?? openBlocks(context, blockSize)
    // from here on, nothing fails after which this process would go on as a client
    if (found.start !== blocks.start) blocks.trim(found.start)
    blocks.base = base
    // the file has all that was deleted now
    blocks.follower = null
    blocks.overrides.clear()
    await moveTail(blocks, found.tail, file.filename)
    const writer = new Writer(file, blocks, { ...settings, blockSize, generation }, found.lastSeq, (seq) => {
      server.changed()
      listeners.onadvance(seq)
    }, clock, { clients: this.forWriter(), retention: retentionOf(settings, records) })
    this.writer = writer
    await this.prepare(writer)
    return { blocks, reader, writer, cut, recovered, id }
  }

  /** @returns {import('../write/clients').Clients} */
  forWriter () {
    const { clients, server, context: { settings } } = this
    return {
      flush: () => clients.flush(),
      rollBack: (acknowledged) => clients.rollBack(acknowledged),
      move: (map, distance) => server.moved(map, distance),
      whenFollowed: () => server.whenFollowed(settings.timeout),
      rewritten: () => server.changed(),
      list: (end) => clients.list(end)
    }
  }

  /** @param {Writer} writer FILE.meta says that the log is open, before a client is welcome */
  async prepare ({ metadata }) {
    /** @type {Error | null} */
    let problem = null
    const write = () => metadata.write().then(() => { problem = null }, err => { problem = err })
    // on a full disk, it is tried again for each client that comes
    this.clients.problem = () => {
      if (problem !== null) write()
      return problem
    }
    await write()
  }

  /**
   * Lets clients in.
   * @param {string} id of the log
   * @param {() => void} first appends what comes before what they send
   */
  serve (id, first) {
    const { writer } = this
    const { blocks } = writer
    this.server.open({ writer, blocks, problemOf: seq => problemOf(blocks, seq), compact: id => this.compact(id), id }, first)
  }

  /**
   * A compaction ends the connections, so the client that has asked for it asks again: then the log has another id.
   * @param {string} id of the log that is to be compacted
   * @returns {Promise<import('../space/types').Compacted>} of the compaction in progress, or of the last one if the log was compacted since. Rejects with
   *   `flumelog:compacted` if that was done by another owner
   */
  compact (id) {
    const { compaction, server } = this
    const isDone = id !== server.log?.id
    if (compaction !== null && (compaction.isRunning || isDone)) return compaction.compacted
    if (isDone) return Promise.reject(errors.compacted(this.writer.file.filename))
    const compacted = this.context.listeners.oncompact()
    const started = { compacted, isRunning: true }
    this.compaction = started
    compacted.then(() => { started.isRunning = false }, () => { this.compaction = null })
    return compacted
  }

  /** Everything that was appended is stored and durable. */
  async close () {
    await this.server.close()
    this.clients.dropAbsent()
    await promised(cb => this.writer.close(cb))
  }
}

/**
 * The log is found to end in this block; readers that are in the block where it ended before go on from there.
 * @param {import('../read/block-cache').BlockCache} blocks
 * @param {import('../format/block').Block} tail
 * @param {string} filename
 */
async function moveTail (blocks, tail, filename) {
  const before = blocks.tail
  const { blockSize } = blocks
  const end = tail.number * blockSize + tail.end
  if (end < blocks.end) throw errors.shrunk(filename, blocks.end, end)
  blocks.forget()
  if (before.number === tail.number) {
    before.setBuffer(tail.buffer)
    before.end = tail.end
    return
  }
  await new Promise(resolve => blocks.load(before.number, 1, { cacheShare: 1 }, ([block]) => {
    before.complete(block)
    resolve(null)
  }))
  blocks.tail = tail
}

module.exports = { Owner }
