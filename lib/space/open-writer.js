'use strict'

// Opens a log for the process that has its lock: finds its block size and its end, recovers it after a crash, and gives it a writer.

const { openBlocks } = require('../read/open-blocks')
const { recoverEnd } = require('../recovery/recover-end')
const { Writer } = require('../write/writer')
const { settleMap } = require('./offset-map')
const { removeUnfinished } = require('./unfinished-files')

/**
 * @typedef {import('../opening').Opened} Opened
 *
 * @typedef {object} WriterOptions
 * @property {(seq: number) => void} onacknowledged see `Writer`
 * @property {Pick<Opened, 'blocks' | 'reader'> | null} [before] what this process has read the log by; default: it has not
 * @property {((end: number) => import('../write/clients').Clients)} [clientsOf] of a shared log that ends there
 */

/**
 * @param {import('../opening').Context} context
 * @param {WriterOptions} options
 * @returns {Promise<Pick<Opened, 'blocks' | 'reader' | 'cut' | 'recovered'> & { writer: Writer }>}
 */
async function openWriter (context, { onacknowledged, before = null, clientsOf }) {
  const { file, settings, codec, clock } = context
  const { path } = file.location
  // before it needs space: the disk may be full
  await removeUnfinished(path)
  const wanted = before?.blocks.blockSize ?? settings.blockSize
  const { blockSize, found, cut, recovered, generation } = await recoverEnd(file.io, file.filename, { ...settings, blockSize: wanted, isWhole: codec.isWhole })
  const clients = clientsOf?.(found.kept)
  await settleMap(path, generation.id)
  const { blocks, reader } = before ?? openBlocks(context, blockSize)
  // once it has taken over, nothing fails after which a client would go on as one
  if (before === null) blocks.open(found.tail, found.start, generation)
  else await blocks.takeOver(found.tail, found.start, generation)
  const writer = new Writer(file, blocks, settings, found.lastSeq, onacknowledged, clock, clients)
  if (settings.retain !== null) {
    // only then: most logs keep everything
    const { Retention } = require('./retention')
    writer.retention = new Retention(writer, settings.retain, codec, settings.sync)
  }
  return { blocks, reader, writer, cut, recovered }
}

module.exports = { openWriter }
