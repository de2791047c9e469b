'use strict'

// Where a fuzzed log lives: a simulated disk that is healthy, slow, faulty, full or
// answers at once, in simulated time; or a real file, in real time.

const { watchDescriptors } = require('./descriptors')
const fs = require('fs')
const path = require('path')
const { crc32 } = require('zlib')
const FlumeLog = require('../../..')
const { createLog } = require('../../../lib/log')
const { settingsOf } = require('../../../lib/options')
const { storageFile } = require('../../../lib/storage/storage-file')
const { Disk } = require('../disk')
const { randomFrom } = require('../random')
const { Simulation } = require('../simulation')

/** Milliseconds after which a real log that owes a callback hangs. */
const MOST_WAIT = 120_000

/** What can go wrong on each kind of simulated disk. */
const KINDS = {
  disk: { fates: {} },
  'answers at once': { fates: {}, isAtOnce: true },
  faults: { fates: { read: 0.01, write: 0.05, truncate: 0.05, 'metadata.replace': 0.05, 'metadata.append': 0.05, 'metadata.sync': 0.05 } },
  'failed writes at once': { fates: { write: 0.05, truncate: 0.02 }, isAtOnce: true },
  'full disk': { fates: {}, isLimited: true },
  'failed syncs': { fates: { sync: 0.03, 'metadata.sync': 0.1, write: 0.01 } }
}

class World {
  /**
   * @param {string} kind
   * @param {number} seed
   */
  constructor (kind, seed) {
    this.kind = kind
    this.random = randomFrom(crc32(kind, seed))
    /** Violations that are known, and not looked for. @type {RegExp | null} */
    this.ignored = null
    /** The first thing that was wrong. @type {string | null} */
    this.violation = null
    this.violate = this.violate.bind(this)
    this.blockSize = this.random.pick([64, 128, 256, 1024, 4096, 16384, 65536])
    this.mostBytes = this.blockSize - 14
    this.resetFaults()
  }

  /** @param {string} message */
  violate (message) {
    if (this.violation !== null || this.ignored?.test(message)) return
    this.violation = message
    this.note(`VIOLATION ${message}`)
  }

  /** @param {number} block the offset of a full block */
  paddingStart (block) {
    return this.bytes(block + this.blockSize - 4, 4).readUInt32LE(0)
  }

  resetFaults () {
    /** How many operations were made to fail since the log was opened. */
    this.faults = { read: 0, change: 0, sync: 0 }
  }
}

class SimulatedWorld extends World {
  constructor (kind, seed) {
    super(kind, seed)
    const { random } = this
    const { fates, isAtOnce, isLimited } = KINDS[kind]
    this.fates = fates
    this.isLimited = isLimited
    this.simulation = new Simulation(seed)
    this.note = (line) => this.simulation.note(line)
    const longest = random.pick([0.01, 1, 30])
    const atOnce = isAtOnce ? random.pick([1, 0.8]) : 0
    const delay = () => random() < atOnce ? -1 : random() * longest
    this.isStorage = random() < 0.3
    this.follow(new Disk({ random, pageSize: random.pick([512, 4096]), clock: this.simulation.clock, delay }))
  }

  /** @param {Disk} disk */
  follow (disk) {
    this.disk = disk
    disk.note = this.note
  }

  open (settings) {
    const { disk, simulation } = this
    this.resetFaults()
    this.isFaulty = false
    disk.fateOf = (kind) => this.fateOf(kind)
    disk.capacity = Infinity
    const file = this.isStorage ? storageFile(disk.storage('log'), { readOnly: false }) : disk.file('log')
    return createLog(file, settingsOf(settings), simulation.clock)
  }

  /** The log is open: from now on operations may fail. */
  opened () {
    this.isFaulty = true
  }

  healthy () {
    this.isFaulty = false
    this.disk.capacity = Infinity
  }

  fateOf (kind) {
    if (!this.isFaulty || !(this.random() < (this.fates[kind] ?? 0))) return undefined
    // what a failed write has left, and cannot be truncated, ends all writing as a failed fsync does
    this.faults[kind === 'read' ? 'read' : kind === 'sync' || kind === 'truncate' ? 'sync' : 'change']++
    return kind === 'write' || kind === 'metadata.append' ? this.random.pick(['fail', 'tear']) : 'fail'
  }

  change () {
    if (!this.isLimited || !this.isFaulty) return
    const { disk, random } = this
    disk.capacity = random() < 0.5 ? Infinity : disk.get('log').length + random.below(random.pick([100, 5000, 3e6]))
    if (disk.capacity < Infinity) this.faults.change++
    this.note(`the disk has ${disk.capacity - disk.get('log').length} bytes left`)
  }

  isDurable (seq, data) {
    const frame = Buffer.alloc(data.length + 4)
    frame.writeUInt16LE(data.length, 0)
    data.copy(frame, 2)
    frame.writeUInt16LE(data.length, data.length + 2)
    return this.disk.get('log').isDurable(seq, frame, this.disk.pageSize)
  }

  /** Whether there is nothing but zeros where the record's data was: its lengths may be gone, too, if all of its block was deleted. */
  isErased (seq, length) {
    const { disk } = this
    return disk.get('log').isDurable(seq + 2, Buffer.alloc(length), disk.pageSize)
  }

  /** Whether FILE.meta has the deletion of this record, whatever a power cut leaves of it. */
  isRecorded (seq) {
    const start = seq - seq % this.blockSize
    const isOf = ({ records, isHole, block }) => isHole ? block === start : records.some(record => record.seq === seq)
    return !this.isStorage && this.disk.durableMetadata.every(metadata => metadata !== null && metadata.deletions.some(isOf))
  }

  syncedLength () {
    return this.disk.get('log').syncedLength
  }

  later (run) {
    this.simulation.schedule(run, this.random() * this.random.pick([0.01, 1, 20]))
  }

  pause () {
    return this.simulation.pause(this.random() * this.random.pick([0, 0.01, 1, 20]))
  }

  /** Until nothing is scheduled. */
  rest () {
    return this.simulation.idle()
  }

  get canCrash () {
    return !this.isStorage
  }

  crash () {
    const isKill = this.random() < 0.3
    this.note(isKill ? 'KILLED' : 'POWER CUT')
    // what the dead process had scheduled does not run
    this.simulation.events = []
    this.follow(isKill ? this.disk.afterKill() : this.disk.afterPowerLoss())
    return { isKill }
  }

  misuses () {
    return this.disk.misuses
  }

  bytes (offset = 0, size = Infinity) {
    return this.disk.get('log').read(offset, size)
  }

  run (work) {
    return this.simulation.run(work)
  }

  get history () {
    return this.simulation.recent
  }
}

class RealWorld extends World {
  constructor (kind, seed, folder) {
    super(kind, seed)
    this.recent = []
    this.note = (line) => {
      this.recent.push(line)
      if (this.recent.length > 60) this.recent.shift()
    }
    this.file = path.join(folder, `log-${seed}`)
    this.descriptors = watchDescriptors()
    this.isLimited = kind === 'full path'
    this.canCrash = false
    this.isStorage = false
  }

  open (settings) {
    this.resetFaults()
    return FlumeLog(this.file, settings)
  }

  opened () {
    this.isFaulty = true
  }

  healthy () {
    this.isFaulty = false
    this.descriptors.capacity = Infinity
  }

  change () {
    if (!this.isLimited || !this.isFaulty) return
    const { random, descriptors } = this
    const size = fs.statSync(this.file).size
    descriptors.capacity = random() < 0.5 ? Infinity : size + random.below(random.pick([100, 5000, 3e6]))
    if (descriptors.capacity < Infinity) this.faults.change++
    this.note(`the disk has ${descriptors.capacity - size} bytes left`)
  }

  isDurable () {
    return true
  }

  isErased () {
    return true
  }

  isRecorded () {
    return true
  }

  syncedLength () {
    return Infinity
  }

  later (run) {
    setTimeout(run, this.random.below(3))
  }

  pause () {
    return new Promise(resolve => this.random() < 0.7 ? setImmediate(resolve) : setTimeout(resolve, this.random.below(3)))
  }

  /**
   * @param {() => boolean} isDone whether all has been answered
   */
  async rest (isDone) {
    const deadline = Date.now() + MOST_WAIT
    while (!isDone() && this.violation === null && Date.now() < deadline) await new Promise(resolve => setTimeout(resolve, 1))
  }

  misuses () {
    return this.descriptors.misuses
  }

  bytes (offset = 0, size = fs.statSync(this.file).size) {
    const bytes = Buffer.alloc(size)
    const fd = fs.openSync(this.file, 'r')
    fs.readSync(fd, bytes, 0, size, offset)
    fs.closeSync(fd)
    return bytes
  }

  async run (work) {
    try {
      return await work
    } finally {
      fs.rmSync(this.file, { force: true })
      fs.rmSync(this.file + '.meta', { force: true })
    }
  }

  get history () {
    return this.recent
  }
}

/** The kinds of worlds there are. */
const NAMES = [...Object.keys(KINDS), 'path', 'full path']

/**
 * @param {string} kind one of NAMES
 * @param {number} seed
 * @param {string} folder for files
 */
function worldOf (kind, seed, folder) {
  return KINDS[kind] === undefined ? new RealWorld(kind, seed, folder) : new SimulatedWorld(kind, seed)
}

module.exports = { worldOf, NAMES }
