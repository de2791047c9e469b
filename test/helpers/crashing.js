'use strict'

// One simulated disk with one crash after the other, all of it from one seed.

const pull = require('pull-stream')
const { createLog } = require('../../lib/log')
const { isHole } = require('../../lib/format/hole')
const { dataAt, isDeleted, nextPosition, paddingStart } = require('../../lib/format/layout')
const { findProblem } = require('../../lib/format/validation')
const { settingsOf } = require('../../lib/options')
const { storageFile } = require('../../lib/storage/storage-file')
const { Disk } = require('./disk')
const { Model } = require('./fuzz/model')
const { framesOf, reconcile, wholeFrames } = require('./fuzz/reconcile')
const { buffers, objects, HEAD_SIZE } = require('./fuzz/values')
const { Simulation } = require('./simulation')

/** How often one disk crashes before the next starts with an empty one. */
const CRASHES_PER_DISK = 12
/** The same: a larger log takes longer to compare, and crashes in no other way. */
const MAX_SIZE = 1024 * 1024
/** Bytes around the data of records and of blocks. */
const FRAME_SIZE = 4
const PADDING_SIZE = 10
/** Operations of which any may be the last one. Not the reads: there are so many that it would mostly be one of them. */
const LAST = ['open', 'size', 'write', 'truncate', 'punch', 'sync', 'close', 'metadata.read', 'metadata.replace', 'metadata.rename', 'metadata.append', 'metadata.sync', 'keepCut']
/** What an append may get from a disk that fails. */
const WRITE_ERRORS = ['EIO', 'ENOSPC']

class Crashing {
  /**
   * @param {number} seed
   * @param {{ [what: string]: number }} counts
   * @param {{ isStorage?: boolean }} [options] isStorage: the log is on a random-access-storage, with checksums. What docs/reliability.md
   *   excuses there is counted as `excused`, and ends the run
   */
  constructor (seed, counts, { isStorage = false } = {}) {
    this.isStorage = isStorage
    /** What a power cut has left is excused. */
    this.isExcused = false
    this.simulation = new Simulation(seed)
    const random = this.random = this.simulation.random
    this.counts = counts
    this.violation = null
    /** Records in which a power cut has left a hole, by seq: what is there of them. @type {Map<number, Buffer>} */
    this.holes = new Map()
    const violate = (message) => { this.violation ??= message }
    const values = random() < 0.3 ? objects(violate) : buffers
    this.isPlain = !isStorage && values === buffers && random() < 0.3
    this.model = new Model(values, violate)
    const large = !isStorage && !this.isPlain && random() < 0.4
    this.settings = settingsOf({
      large,
      blockSize: random.pick([128, 256, 1024, 4096, 16384, 65536]),
      checksum: isStorage || random() < 0.8,
      cacheSize: random.pick([0, 6000, 1 << 20]),
      sync: random.pick(['always', 'interval', 'interval', 'never']),
      syncInterval: random.pick([0, 1, 1000]),
      syncBytes: random.pick([1, 1000, 20000, 1 << 24]),
      ...values.options,
      ...this.isPlain ? { validate: undefined } : {}
    })
    // the smallest pages only where there are not thousands of them per write
    this.trimmingPart = random.pick([0, 0, 0.02, 0.1])
    this.settings.trimBatch = random.pick([0, 1000, undefined])
    const retained = random.pick([1, 3000, 100000])
    this.settings.retain = random.pick([null, null, null, { bytes: retained }])
    this.model.retain = this.settings.retain
    this.pageSize = random.pick(this.settings.blockSize > 1024 ? [512, 4096] : [64, 512, 4096])
    this.atomicPart = random.pick([0, 0.1, 0.6])
    // a plain record that lost a page is told from others by where it stands, so nothing else may be missing
    this.failing = this.isPlain || isStorage ? 0 : random.pick([0, 0, 0.2])
    this.isAligning = random() < 0.3
    this.deletedPart = random.pick([0.1, 0.1, 0.5])
    this.rangePart = random.pick([0, 0.1, 0.3])
    this.disk = this.wired(new Disk({ random, pageSize: this.pageSize, clock: this.simulation.clock, delay: () => random() * 2 }))
    this.moment = 0
    /** The one that was open before the crash. @type {import('../../lib/log').FlumeLog<any> | null} */
    this.log = null
    /** Writes have failed since the log was last compared. */
    this.hasFailed = false
    /** Deletions could not be recorded. */
    this.hasFailedMetadata = false
    /** How often the log was opened. */
    this.lives = 0
    /** Where the next record is expected to stand. @type {number | undefined} */
    this.end = undefined
    /** What was deleted before this moment must not come back after a power cut. */
    this.deletionsSynced = this.settings.sync === 'always' ? Infinity : 0
    /** A power cut must not bring back what is before this offset. */
    this.durableStart = 0
  }

  get history () {
    return this.simulation.recent
  }

  get hash () {
    return this.simulation.hash
  }

  count (what, by = 1) {
    this.counts[what] = (this.counts[what] ?? 0) + by
  }

  /** @param {Disk} disk whose writes fail at times, mostly during a sync */
  wired (disk) {
    let isSyncing = false
    disk.note = (line) => this.simulation.note(line)
    disk.fateOf = (kind) => {
      if (kind === 'sync') isSyncing = true
      if (!['write', 'punch', 'metadata.append', 'metadata.replace', 'metadata.sync'].includes(kind)) return undefined
      const chance = isSyncing ? this.failing : this.failing / 10
      isSyncing = false
      if (!this.isWorking || !(this.random() < chance)) return undefined
      if (kind.startsWith('metadata.')) {
        this.count('failed')
        this.hasFailedMetadata = true
        return this.random.pick(['fail', 'tear'])
      }
      this.hasFailed = true
      this.count('failed')
      return this.random.pick(['fail', 'tear'])
    }
    return disk
  }

  /** @param {number} most crashes in all */
  async run (most) {
    for (let n = 0; n < CRASHES_PER_DISK && !this.isExcused && this.disk.get('log').bytes.length < MAX_SIZE && (this.counts.crashes ?? 0) < most; n++) {
      await this.simulation.run(this.untilCrash())
      this.check()
      this.crash()
    }
    this.disk.plan.clear()
    if (!this.isExcused) await this.simulation.run(this.lastTime())
    this.check()
  }

  check () {
    if (this.violation !== null) throw new Error(this.violation)
  }

  async untilCrash () {
    const { disk, random, settings, simulation } = this
    this.lives++
    this.isWorking = false
    if (this.log !== null) this.model.reached(this.log.stats().size)
    disk.kinds = LAST
    disk.plan.set(1 + random.below(random.pick([20, 60, 400])), 'off')
    const log = this.log = createLog(this.file, this.mayFindBlockSize() ? { ...settings, blockSize: undefined } : settings, simulation.clock)
    if (!await this.survives(called(cb => log.onReady(cb)).catch(err => this.excuseUnopened(err)))) return
    if (this.isExcused) return
    if (log.stats().cut !== null) this.count('cut')
    if (!await this.survives(this.compare(log))) return
    if (this.isExcused) return
    this.isWorking = true
    await this.survives(this.work(log))
  }

  /** Whether the block size is to be found: the first blocks are durable, but may be about to become holes. */
  mayFindBlockSize () {
    const { disk, random, settings: { blockSize } } = this
    return random() < 0.3 && disk.durableMetadata.every(metadata => metadata !== null && metadata.end > 2 * blockSize)
  }

  /** The power stays on, and nothing fails. */
  async lastTime () {
    this.isWorking = false
    this.model.reached(this.log.stats().size)
    const log = createLog(this.file, this.settings, this.simulation.clock)
    await called(cb => log.onReady(cb)).catch(err => this.excuseUnopened(err))
    if (!this.isExcused) await this.compare(log)
    if (this.isExcused) return
    await called(cb => log.close(cb))
  }

  /** @returns {Promise<boolean>} whether it was done before the power went */
  async survives (work) {
    await Promise.race([work, this.disk.off])
    return !this.disk.isOff
  }

  crash () {
    const { model, random, disk } = this
    const isKill = random() < 0.3
    this.simulation.note(isKill ? 'KILLED' : 'POWER CUT')
    this.simulation.events = []
    this.disk = this.wired(isKill ? disk.afterKill() : disk.afterPowerLoss())
    this.count('crashes')
    if (!isKill && !this.isStorage) model.trimmedTo = this.durableStart
    for (const record of model.records) {
      // a kill takes nothing, but a power cut before the log has been opened again may
      if (isKill && record.acknowledgedAt < Infinity && !record.isDurable) record.isDurable = record.isOnlyWritten = true
      if (!isKill && record.isOnlyWritten) record.isDurable = record.isOnlyWritten = false
      if (!isKill && !record.isDurable) record.acknowledgedAt = Infinity
      if (!isKill && record.deletedAt > this.deletionsSynced) record.deletedAt = Infinity
      if (record.isDurable) this.count('synced')
      if (record.deletedAt < Infinity) this.count('deleted')
    }
  }

  get file () {
    return this.isStorage ? storageFile(this.disk.storage('log'), { readOnly: false }) : this.disk.file('log')
  }

  excuse () {
    this.count('excused')
    this.isExcused = true
  }

  /** Of a storage of which nothing was synced, a power cut may leave what looks like another file. */
  excuseUnopened (err) {
    if (!this.isStorage || err.code !== 'flumelog:not-a-log' || this.model.records.some(({ isDurable }) => isDurable)) throw err
    this.excuse()
  }

  /**
   * Without a recovery point, a power cut may leave what was not synced in part: a corrupt block, a record that is torn or looks deleted,
   * the blocks of a trim in progress.
   */
  excuseTorn (log) {
    const { model, settings: { blockSize } } = this
    const { bytes } = this.disk.get('log')
    if (log.start < model.trimmedTo) return model.violate(`the log was trimmed to ${model.trimmedTo}, and starts at ${log.start}`)
    if (log.start > model.trimmedTo && !bytes.subarray(blockSize, log.start).every(byte => byte === 0)) return this.excuse()
    for (let offset = log.start; offset < bytes.length; offset += blockSize) {
      const block = bytes.subarray(offset, offset + blockSize)
      const isTrimming = offset < model.trimmingTo
      const isWhole = block.length === blockSize
      const isCorrupt = isWhole && findProblem(block, true) !== null
      if (isCorrupt && !isTrimming && !this.mayBeCorrupt(offset)) model.violate(`the block at ${offset} is corrupt, and all of it was synced`)
      if (isCorrupt || (isTrimming && isWhole && isHole(block)) || this.hasTornRecord(block, offset)) return this.excuse()
    }
  }

  /** Whether something of a block was not synced. */
  mayBeCorrupt (offset) {
    const { model: { records }, settings: { blockSize } } = this
    const isSealed = records.some(({ isDurable, seq }) => isDurable && seq >= offset + blockSize)
    const isUnsynced = ({ isDurable, deletingAt }) => !isDurable || (deletingAt > 0 && deletingAt < Infinity)
    return !isSealed || records.some(record => record.seq >= offset && record.seq < offset + blockSize && isUnsynced(record))
  }

  /** Whether a record is neither as it was appended nor deleted as asked for, and its append or deletion was not synced. */
  hasTornRecord (block, offset) {
    const { model } = this
    const end = block.length === this.settings.blockSize ? paddingStart(block) : block.length
    for (let position = 0; position < end; position = nextPosition(block, position)) {
      const data = dataAt(block, position)
      const record = model.bySeq.get(offset + position)
      const isIntact = model.records.some(({ data: appended }) => appended.equals(data))
      const isAskedFor = isDeleted(block, position) && record?.deletingAt < Infinity
      const isUnsynced = record === undefined || !record.isDurable || (record.deletingAt > 0 && record.deletingAt < Infinity)
      if (!isIntact && !isAskedFor && isUnsynced) return true
    }
    return false
  }

  /** What was found must be a prefix of what was appended, and hold all that was promised; the log shows just that. */
  async compare (log) {
    if (this.isStorage) this.excuseTorn(log)
    if (this.isExcused) return
    const shown = await called(cb => pull(log.stream(), pull.collect(cb)))
    const { model, settings, disk } = this
    const stored = framesOf(disk.get('log').bytes, settings.blockSize, model.violate, log.start)
    const frames = settings.large ? wholeFrames(stored, model) : stored
    const live = frames.filter(({ isDeleted }) => !isDeleted)
    const { encode } = model.values
    if (live.length !== shown.length || !live.every(({ seq, data }, i) => seq === shown[i].seq && data.equals(encode(shown[i].value)))) {
      model.violate('the log does not show what is in the file')
    }
    this.count('found', frames.length)
    this.count('holes', frames.filter(({ end }) => end !== undefined).length)
    if (settings.large && live.length > 0 && !live.some(({ seq }) => seq === log.since.value) && frames.at(-1).seq !== log.since.value) model.violate(`since is ${log.since.value}, where no record is`)
    if (this.isPlain) this.fillHoles(frames)
    if (log.start > 0) this.count('trimmed')
    reconcile(model, frames, { isCrash: true, isCertain: false, hasFaults: this.hasFailed, start: log.start })
    for (const record of model.records) record.isOnlyWritten = false
    this.durableStart = model.trimmedTo
    this.hasFailed = false
  }

  /** Nothing covers a plain record that was not synced: a page of it may be missing, but not all of it. */
  fillHoles (frames) {
    const { records, bySeq } = this.model
    const indexes = new Map(records.map((record, index) => [record, index]))
    // of batches, the model knows the last seq only; in front of them, records may be trimmed, or together in a hole
    const places = new Array(frames.length)
    for (let i = frames.length - 1; i >= 0; i--) places[i] = indexes.get(bySeq.get(frames[i].seq)) ?? places[i + 1] - 1
    frames.forEach((frame, i) => {
      if (!(places[i] >= 0)) places[i] = i === 0 ? 0 : places[i - 1] + 1
      const { data, isDurable } = records[places[i]] ?? {}
      if (data === undefined || frame.isDeleted || data.length !== frame.data.length) return
      // a hole stays: what was found once is durable from then on
      if (isDurable && !this.holes.get(frame.seq)?.equals(frame.data)) return
      if (!frame.data.every((byte, at) => byte === data[at] || byte === 0)) return
      this.holes.set(frame.seq, frame.data)
      frame.data = data
    })
  }

  /** Appends, deletes and syncs until the power goes. */
  async work (log) {
    const { random, simulation, disk } = this
    /** @type {Set<Promise<void>>} */
    let pending = new Set()
    for (let i = 0; i < 200 && !disk.isOff; i++) {
      const what = random()
      if (what < 0.85 - this.deletedPart) pending.add(this.append(log))
      else if (what < 0.85) pending.add(random() < this.rangePart ? this.delRange(log) : this.del(log))
      else if (what < 0.9) pending.add(this.sync(log))
      else if (what < 0.9 + this.trimmingPart) pending.add(this.trim(log))
      if (random() < 0.4) {
        await this.survives(Promise.all(pending))
        pending = new Set()
      } else if (random() < 0.3) await simulation.pause(random())
    }
    await Promise.all(pending)
    if (random() < 0.5) await this.close(log)
  }

  drawSize (log) {
    const { random, settings, model, pageSize } = this
    const most = settings.blockSize - PADDING_SIZE - FRAME_SIZE
    if (this.isAligning && random() < 0.7) {
      const end = this.end ?? log.stats().size
      // the data starts at a page already: let it cover whole pages; or let the next record's start at one
      const isAtPage = (end + FRAME_SIZE / 2) % pageSize === 0
      const size = isAtPage ? pageSize * (1 + random.below(2)) : pageSize - (end + FRAME_SIZE * 1.5) % pageSize
      if (size <= most && size >= (model.values === buffers ? HEAD_SIZE : 40)) return size
    }
    if (settings.large && random() < 0.2) {
      this.count('large')
      return Math.floor(settings.blockSize * (0.9 + random() * random.pick([0.2, 2, 20])))
    }
    return Math.min(most, random.pick([12, 20, 40, 100, 506, 512, 1000, 4090, 4096, 9000, most]))
  }

  append (log) {
    const { random, model, settings } = this
    const count = random() < 0.7 - this.atomicPart ? 1 : random.below(12)
    const sync = random() < 0.1
    const batch = { isAtomic: false, hasCallback: true, madeAt: ++this.moment, mayBeRefused: false }
    const records = []
    for (let i = 0; i < count; i++) {
      const record = model.make(this.drawSize(log), batch)
      // an object may come out larger than asked for
      if (!settings.large && record.data.length > settings.blockSize - PADDING_SIZE - FRAME_SIZE) break
      records.push(record)
      this.place(record.data.length)
    }
    const together = records.reduce((sum, { data }) => sum + data.length + FRAME_SIZE, 0)
    const atomic = random() < this.atomicPart && together <= settings.blockSize - PADDING_SIZE
    batch.isAtomic = atomic
    for (const record of records) model.add(record)
    const values = records.map(({ value }) => value)
    this.simulation.note(`append ${records.map(({ data }) => data.length)}${sync ? ' sync' : ''}${atomic ? ' atomic' : ''}`)
    return new Promise((resolve) => {
      log.append(values, { sync, atomic }, (err, result) => {
        this.moment++
        this.simulation.note(`  appended ${err?.code ?? result}`)
        resolve()
        if (err) {
          this.end = undefined
          model.fail(records)
          return this.checkError(err)
        }
        const last = atomic ? result.at(-1) : result
        model.acknowledge(records, records.map((record, i) => atomic ? result[i] : i === records.length - 1 ? last : undefined), this.moment)
        // whatever was appended before has been acknowledged, and synced with it
        if (settings.sync === 'always' || sync || (atomic && count > 0)) this.synced(batch.madeAt)
      })
    })
  }

  /** Keeps count of where the next record will stand; a wrong guess only costs the alignment. */
  place (length) {
    const { blockSize } = this.settings
    const end = this.end ?? 0
    const position = end % blockSize
    const fits = position + length + FRAME_SIZE <= blockSize - PADDING_SIZE
    this.end = (fits ? end : end - position + blockSize) + length + FRAME_SIZE
  }

  /** All records between two, or of the log's first blocks. */
  async delRange (log) {
    const { random, model } = this
    this.simulation.note('list')
    // of batches, the model knows the last seq only
    const shown = await called(cb => pull(log.stream({ fromStart: true }), pull.collect(cb)))
    for (const { seq, value } of shown) if (!this.holes.get(seq)?.equals(value)) model.show(seq, value, 0)
    const known = model.records.filter(({ seq, isFailed }) => seq !== undefined && !isFailed)
    if (known.length === 0) return
    const [first, last] = [random.below(known.length), random.below(known.length)].sort((a, b) => a - b)
    const range = random.pick([
      { gte: known[first].seq, lte: known[last].seq },
      { gt: known[first].seq, lt: known[last].seq },
      { lt: known[first].seq }
    ])
    const within = known.filter(({ seq }) => !(seq <= range.gt) && !(seq < range.gte) && !(seq >= range.lt) && !(seq > range.lte))
    for (const record of within) record.deletingAt = Math.min(record.deletingAt, this.moment)
    const name = `del ${JSON.stringify(range)}`
    this.simulation.note(name)
    this.count('ranges')
    await new Promise(resolve => log.del(range, (err) => {
      this.simulation.note(`  deleted ${name} ${err?.code ?? ''}`)
      resolve()
      if (err) return this.checkError(err)
      const moment = ++this.moment
      for (const record of within) record.deletedAt = Math.min(record.deletedAt, moment)
    }))
  }

  del (log) {
    const { random, model, settings } = this
    // one, of all or of the last, or some
    const from = random() < 0.5 ? 0 : Math.max(0, model.records.length - 10)
    const chosen = Array.from({ length: random.pick([1, 1, 1, 30]) }, () => model.records[from + random.below(model.records.length - from)])
    const records = chosen.filter(record => record?.seq !== undefined && record.acknowledgedAt < Infinity)
    if (records.length === 0) return Promise.resolve()
    for (const record of records) record.deletingAt = Math.min(record.deletingAt, this.moment)
    const seqs = records.map(({ seq }) => seq)
    this.simulation.note(`del ${seqs}`)
    return new Promise(resolve => log.del(seqs, (err) => {
      this.simulation.note(`  deleted ${seqs} ${err?.code ?? ''}`)
      resolve()
      model.reached(log.stats().size)
      if (err?.code === 'flumelog:trimmed' && records.some(record => model.mayBeTrimmed(record))) {
        // as durable as a deletion
        model.trimmedTo = Math.max(model.trimmedTo, err.start)
        if (settings.sync === 'always') this.durableStart = model.trimmedTo
        return
      }
      if (err) return this.checkError(err)
      const moment = ++this.moment
      for (const record of records) record.deletedAt = Math.min(record.deletedAt, moment)
    }))
  }

  trim (log) {
    const { random, model } = this
    const from = random() < 0.5 ? 0 : Math.max(0, model.records.length - 10)
    const lt = random() < 0.1 ? Infinity : model.records[from + random.below(model.records.length - from)]?.seq ?? 0
    model.trimmingTo = Math.max(model.trimmingTo, lt)
    this.simulation.note(`trim ${lt}`)
    return new Promise(resolve => log.trim({ lt }, (err, start) => {
      this.simulation.note(`  trimmed ${err?.code ?? start}`)
      resolve()
      if (err) return this.checkError(err)
      model.reached(log.stats().size)
      if (start > model.trimmingTo) model.violate(`trimmed to ${start}`)
      model.trimmedTo = this.durableStart = Math.max(model.trimmedTo, start)
    }))
  }

  sync (log) {
    const madeAt = ++this.moment
    const { trimmedTo } = this.model
    this.simulation.note('sync')
    return new Promise(resolve => log.sync((err) => {
      this.simulation.note(`  synced ${err?.code ?? ''}`)
      resolve()
      if (err) this.checkError(err)
      else {
        this.synced(madeAt)
        this.durableStart = Math.max(this.durableStart, trimmedTo)
        this.deletionsSynced = Math.max(this.deletionsSynced, madeAt)
      }
    }))
  }

  async close (log) {
    this.simulation.note('close')
    await this.survives(called(cb => log.close(cb)).then(() => {
      this.synced(Infinity)
      this.durableStart = this.model.trimmedTo
      this.deletionsSynced = Math.max(this.deletionsSynced, ++this.moment)
    }, err => this.checkError(err)))
  }

  /** All that was appended before has to be there from now on. */
  synced (madeAt) {
    for (const record of this.model.records) {
      if (record.batch.madeAt <= madeAt && record.acknowledgedAt < Infinity) record.isDurable = true
    }
  }

  checkError (err) {
    // the process does not get to know it any more
    if (this.disk.isOff) return
    if (!WRITE_ERRORS.includes(err.code) || !(this.hasFailed || this.hasFailedMetadata)) this.model.violate(err.stack)
  }
}

/** @returns {Promise<any>} what `start` calls back with */
function called (start) {
  return new Promise((resolve, reject) => start((err, result) => err ? reject(err) : resolve(result)))
}

module.exports = { Crashing }
