'use strict'

// What a process that shares a log does when it has the lock: listens on the socket,
// recovers the log as any opening does, and opens it for writing, for itself and for others.

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
    const { file, settings, clock } = context
    this.context = context
    this.io = io
    this.clients = new KnownClients(/** @type {import('../storage/metadata-file').MetadataFile} */ (file.metadata), clock)
    this.server = new Server({ ackInterval: settings.ackInterval, filename: file.filename }, this.clients, clock)
    /** Set when the log is open. @type {Writer} */
    this.writer = /** @type {any} */ (null)
  }

  /** @param {import('./address').Address} address where others find this process, and wait until the log is open */
  async listen (address) {
    const { file } = this.context
    this.server.listen(await address.listen(async () => file.status(), socket => this.server.accept(socket)))
  }

  /**
   * @param {Opened | null} before what there is of the log, if this process was a client
   * @returns {Promise<Pick<Opened, 'blocks' | 'reader' | 'cut' | 'recovered'> & { writer: Writer, id: string }>}
   */
  async open (before) {
    const { io, context, clients, server } = this
    const { file, settings, records, limits, listeners, clock } = context
    const { path } = /** @type {import('../storage/location').Location} */ (file.location)
    // before it needs space: the disk may be full
    await removeUnfinished(path)
    const { checksum } = settings
    const wanted = before?.blocks.blockSize ?? settings.blockSize
    const { blockSize, found, cut, recovered, counted, generation } = await recoverEnd(io, file.filename, { blockSize: wanted, checksum, isWhole: records.isWhole, large: settings.large, retain: settings.retain })
    await clients.load(found.kept, io.read, blockSize, found.start)
    const { id, base } = generation
    await settleMap(path, id)
    const { blocks, reader } = before ?? openBlocks(context, blockSize)
    // from here on, nothing fails after which this process would go on as a client
    if (found.start !== blocks.start) blocks.trim(found.start)
    blocks.base = base
    // the file has all that was deleted now
    blocks.followedPoint = null
    blocks.overrides.clear()
    await moveTail(blocks, found.tail, file.filename)
    const writer = new Writer(file, blocks, { ...settings, blockSize, counted, generation }, limits, found.lastSeq, (seq) => {
      server.advanced()
      listeners.onadvance(seq)
    }, clock, { clients: this.forWriter(blockSize), retention: retentionOf(settings, records) })
    this.writer = writer
    await this.prepare(writer)
    return { blocks, reader, writer, cut, recovered, id }
  }

  /**
   * @param {number} blockSize of the log, in bytes
   * @returns {import('../write/clients').Clients}
   */
  forWriter (blockSize) {
    const { clients, server, context: { settings } } = this
    const { journal } = clients
    return {
      flush: () => journal.flush(),
      voidFrom: (offset) => journal.voidFrom(offset),
      startMove: (offset, base) => journal.startMove(offset, base),
      stay: () => journal.endMove(false),
      move: (map, distance) => server.moved(map, distance),
      whenFollowed: () => server.whenFollowed(settings.timeout),
      rewritten: () => server.changed(),
      mayAskFor: (start, end) => clients.mayAskFor(start, end, blockSize),
      list: () => journal.snapshot()
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
   */
  serve (id) {
    const { writer } = this
    const { blocks } = writer
    this.server.open({ writer, blocks, problemOf: seq => problemOf(blocks, seq), compact: this.context.listeners.oncompact, id })
  }

  /** It could not open the log. */
  async giveUp () {
    await this.server.close()
  }

  /** @param {(err: Error | null) => void} cb everything that was appended is stored and durable */
  close (cb) {
    this.server.close().then(() => {
      this.clients.close()
      this.writer.close((err) => cb(err ?? null))
    })
  }
}

/**
 * The log is found to end in this block; readers that are in the block where it ended before go on from there.
 * @param {import('../read/block-cache').BlockCache} blocks
 * @param {import('../format/block').Block} tail
 * @param {string | null} filename
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
