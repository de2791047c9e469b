'use strict'

// FILE.meta on a simulated disk: as lib/storage/metadata-file.js writes it, with the operations of the disk in the place of those of `fs`.

const { MetadataFile } = require('../../lib/storage/metadata-file')
const { apply, formatMetadata, parseMetadata, parsePublished } = require('../../lib/storage/metadata-text')
const { DiskFile } = require('./disk-file')

/** Bytes by which the file grows. */
const METADATA_SIZE = 4096
/** Bytes behind the entries that only urgent ones use. */
const RESERVE = 1024

/**
 * @typedef {object} MetadataDisk
 * @property {Array<DiskFile | null>} versions that a power cut may leave, what processes see last; null: there is no file
 * @property {number} pageSize
 * @property {(kind: string, cb: (err: Error | null, result?: any) => void, apply: () => any) => void} start an operation
 * @property {(kind: string, apply: () => void, applyPart: () => void) => void} runNow an operation by synchronous I/O
 * @property {(size: number) => boolean} hasRoom whether the disk has as many bytes left
 * @property {(acknowledged: number) => void} published
 */

class SimulatedMetadata extends MetadataFile {
  /** @param {MetadataDisk} disk */
  constructor (disk) {
    super('log.meta', '', () => Promise.reject(new Error('there is no file')), true)
    this.disk = disk
  }

  /** @returns {DiskFile | null} */
  get file () {
    return this.disk.versions.at(-1) ?? null
  }

  /** @param {string} kind @param {() => any} run @returns {Promise<any>} */
  operation (kind, run) {
    return new Promise((resolve, reject) => this.disk.start(kind, (err, result) => err ? reject(err) : resolve(result), run))
  }

  read () {
    return this.operation('metadata.read', () => linesOf(this.file))
  }

  async lock (acknowledged) {
    this.ensureOpen()
    this.publish(acknowledged)
    return true
  }

  ensureOpen () {
    if (this.file === null) throw Object.assign(new Error('ENOENT: no such file'), { code: 'ENOENT' })
    this.fd = 0
    this.allocated = this.file.length
  }

  writeEntry (bytes, isUrgent) {
    const { disk, file, size } = this
    const end = size + bytes.length
    const put = (length) => file.write(size, bytes.subarray(0, length), disk.pageSize)
    disk.runNow('metadata.append', () => {
      if (end + RESERVE > this.allocated && (!isUrgent || end > this.allocated || disk.hasRoom(METADATA_SIZE))) grow(file, disk)
      put(bytes.length)
    }, () => put(Math.floor(bytes.length / 2)))
    this.allocated = file.length
  }

  async replace (metadata) {
    const before = { metadata: this.metadata, mustReplace: this.mustReplace }
    const text = formatMetadata(metadata, this.acknowledged)
    this.since = []
    this.metadata = metadata
    this.mustReplace = false
    try {
      await this.operation('metadata.replace', () => this.takePlaceOf(Buffer.from(text, 'latin1')))
    } catch (err) {
      for (const { entry } of this.since ?? []) if (before.metadata !== null) apply(before.metadata, entry)
      Object.assign(this, before, { since: null })
      throw err
    }
    await this.syncName()
  }

  /** @param {Buffer} snapshot */
  takePlaceOf (snapshot) {
    const { disk } = this
    // the one in whose place it comes is still there
    assertRoom(disk, this.file === null ? METADATA_SIZE : 2 * METADATA_SIZE)
    const file = new DiskFile(Buffer.concat([snapshot, Buffer.alloc(METADATA_SIZE - snapshot.length % METADATA_SIZE)]))
    this.size = snapshot.length
    for (const { bytes } of this.since) {
      file.write(this.size, bytes, disk.pageSize)
      this.size += bytes.length
    }
    disk.versions.push(file)
    this.allocated = file.length
    this.since = null
    this.fd = 0
    this.isNameUnsynced = true
  }

  async syncName () {
    if (!this.isNameUnsynced) return
    const { disk, file } = this
    await this.operation('metadata.rename', () => { disk.versions.splice(0, disk.versions.indexOf(file)) })
    this.isNameUnsynced = false
  }

  async sync () {
    const { file } = this
    const covered = file.state()
    try {
      // what an fsync has failed to write, the next one does not write either
      await this.operation('metadata.sync', () => { if (!file.isBroken) file.sync(covered) })
      await this.syncName()
    } catch (err) {
      file.isBroken = this.mustReplace = true
      throw err
    }
  }

  publish (acknowledged) {
    this.acknowledged = acknowledged
    if (this.fd !== -1) this.disk.published(acknowledged)
  }

  release () {
    this.fd = -1
  }

  async removeUnfinished () {}
}

/**
 * @param {DiskFile} file
 * @param {MetadataDisk} disk
 */
function grow (file, disk) {
  assertRoom(disk, METADATA_SIZE)
  file.write(file.length, Buffer.alloc(METADATA_SIZE), disk.pageSize)
}

/**
 * @param {MetadataDisk} disk
 * @param {number} size in bytes
 */
function assertRoom (disk, size) {
  if (!disk.hasRoom(size)) throw Object.assign(new Error('ENOSPC: simulated'), { code: 'ENOSPC' })
}

/** @param {DiskFile | null} file as a process reads it that does not see whether its writer is alive */
function linesOf (file) {
  if (file === null) return null
  const text = file.bytes.toString('latin1')
  const lines = parseMetadata(text)
  return lines && { ...lines, published: parsePublished(text), isHeld: false }
}

/**
 * @param {DiskFile | null} file
 * @param {number} pageSize
 * @returns {import('../../lib/storage/metadata-text').Metadata | null} what a power cut leaves of it, at least
 */
function durableMetadata (file, pageSize) {
  if (file === null) return null
  const text = file.bytes.toString('latin1')
  let end = text.indexOf('\n') + 1
  for (let next = text.indexOf('\n', end); next !== -1; next = text.indexOf('\n', end)) {
    if (!file.isDurable(end, file.read(end, next + 1 - end), pageSize)) break
    end = next + 1
  }
  return parseMetadata(text.slice(0, end))?.metadata ?? null
}

module.exports = { METADATA_SIZE, SimulatedMetadata, durableMetadata, linesOf }
