'use strict'

// A disk in memory that forgets like a real one (see disk-file.js). It can fail, tear,
// drop or hold back operations, by number or by chance, and be full. `disk.file(name)`
// is a file as lib/storage/path-file.js makes them.

const { systemClock } = require('../../lib/clock')
const { NOWHERE, noWatch, readEach, statusOf, writeJoined } = require('./calls-of-files')
const { formatMetadata } = require('../../lib/storage/metadata-text')
const { DiskFile } = require('./disk-file')
const { randomFrom } = require('./random')
const { SimulatedMetadata, durableMetadata, linesOf } = require('./simulated-metadata')

/** Operations of which at most one may be in progress at a time. */
const CHANGES = ['write', 'truncate', 'punch']

class Disk {
  /**
   * @param {object} [options]
   * @param {ReturnType<typeof randomFrom>} [options.random]
   * @param {number} [options.pageSize]
   * @param {import('../../lib/clock').Clock} [options.clock]
   * @param {() => number} [options.delay] milliseconds that an operation takes; -1: it calls back before it returns;
   *   default: until the next turn of the event loop
   */
  constructor ({ random = randomFrom(1), pageSize = 4096, clock = systemClock, delay } = {}) {
    this.random = random
    this.pageSize = pageSize
    this.clock = clock
    this.delay = delay
    /** name -> DiskFile */
    this.files = new Map()
    /** what a power cut may leave of FILE.meta, what processes see last @type {Array<DiskFile | null>} */
    this.metadataVersions = [null]
    this.operations = 0
    this.isOff = false
    /** resolves when the disk goes off */
    this.off = new Promise(resolve => { this.turnOff = () => { this.isOff = true; resolve(null) } })
    /** what is to happen to which operation: number -> 'fail' | 'tear' | 'drop' | 'hold' | 'off' */
    this.plan = new Map()
    /** which kinds of operation are counted */
    this.kinds = null
    /** what is to happen to an operation that the plan says nothing about @type {(kind: string) => string | undefined} */
    this.fateOf = () => undefined
    /** bytes a file can have, and what a write beyond them says */
    this.capacity = Infinity
    this.fullCode = 'ENOSPC'
    /** Called with each operation, as it starts and as it is answered. @type {(line: string) => void} */
    this.note = () => {}
    /** What was done that must not be: an operation on a closed file, or two changes at a time. @type {string[]} */
    this.misuses = []
  }

  /**
   * One operation on the disk, unless it is off or the plan says otherwise.
   * @param {string} kind
   * @param {(cb: Function) => void} cb
   * @param {() => any} apply does it, gives its result
   * @param {() => void} [applyPart] does a part of it
   */
  operation (kind, cb, apply, applyPart = () => {}) {
    if (this.isOff) return
    const planned = this.kinds === null || this.kinds.includes(kind) ? this.plan.get(++this.operations) : undefined
    const fate = planned ?? this.fateOf(kind)
    // the many reads that go well show in the times of what comes after them
    if (kind !== 'read' || fate !== undefined) this.note(`  ${kind}${fate === undefined ? '' : `: ${fate}`}`)
    if (fate === 'off') {
      // the power goes while this is in progress: not at all, in part, or just done
      outcomeOf(this.random.pick([() => {}, applyPart, apply]))
      this.turnOff()
      return
    }
    if (fate === 'fail') return this.answer(cb, failure('EIO'))
    if (fate === 'tear') {
      applyPart()
      return this.answer(cb, failure('ENOSPC'))
    }
    if (fate === 'drop') return this.answer(cb, null) // a lying disk
    if (this.delay !== undefined && this.random() < 0.5) {
      return this.answer(() => {
        const { err, result } = outcomeOf(apply)
        cb(err, result)
      })
    }
    if (fate === 'hold') {
      const result = apply()
      return this.clock.setImmediate(() => this.answer(cb, null, result))
    }
    const { err, result } = outcomeOf(apply)
    this.answer(cb, err, result)
  }

  /**
   * The same by synchronous I/O.
   * @param {string} kind
   * @param {() => void} apply
   * @param {() => void} applyPart
   */
  runNow (kind, apply, applyPart) {
    // nothing that the process does from now on counts
    if (this.isOff) throw failure('EOFF')
    const planned = this.kinds === null || this.kinds.includes(kind) ? this.plan.get(++this.operations) : undefined
    const fate = planned ?? this.fateOf(kind)
    this.note(`  ${kind}${fate === undefined ? '' : `: ${fate}`}`)
    if (fate === 'fail') throw failure('EIO')
    if (fate === 'tear') {
      applyPart()
      throw failure('ENOSPC')
    }
    if (fate === 'off') {
      outcomeOf(this.random.pick([() => {}, applyPart, apply]))
      this.turnOff()
      throw failure('EOFF')
    }
    if (fate !== 'drop') apply()
  }

  answer (cb, err, result) {
    const run = () => { if (!this.isOff) cb(err, result) }
    if (this.delay === undefined) return this.clock.setImmediate(run)
    const delay = this.delay()
    if (delay < 0) run()
    else this.clock.setTimeout(run, delay)
  }

  /** @param {string} name */
  get (name) {
    if (!this.files.has(name)) this.files.set(name, new DiskFile())
    return this.files.get(name)
  }

  /** A write that stops where the disk is full. */
  put (name, offset, data) {
    const room = Math.max(0, Math.max(this.capacity, this.get(name).length) - offset)
    if (room > 0) this.get(name).write(offset, data.subarray(0, room), this.pageSize)
    if (room < data.length) throw failure(this.fullCode)
  }

  /**
   * The operations on one opened file, each with its check that it may be made now.
   * @param {string} name
   */
  opened (name) {
    const { pageSize, random } = this
    const state = { isClosed: false, changes: 0 }
    const start = (kind, cb, apply, applyPart) => {
      if (this.isOff) return
      if (state.isClosed) {
        // a reader may not know yet
        if (kind !== 'read') this.misuses.push(`${kind} after close`)
        return this.answer(cb, failure('EBADF'))
      }
      if (!CHANGES.includes(kind)) return this.operation(kind, cb, apply, applyPart)
      if (state.changes++ > 0) this.misuses.push(`${kind} while another change is in progress`)
      this.operation(kind, (err, result) => {
        state.changes--
        cb(err, result)
      }, apply, applyPart)
    }
    return {
      state,
      start,
      open: (cb) => this.operation('open', cb, () => { this.get(name) }),
      size: (cb) => start('size', cb, () => this.get(name).length),
      read: (offset, size, cb) => start('read', (err, data) => {
        if (!err && data.length < size) err = failure('EPARTIALREAD')
        cb(err, data)
      }, () => this.get(name).read(offset, size)),
      write: (offset, data, cb) => {
        const kept = Buffer.from(data)
        const put = (from, to) => this.get(name).write(offset + from, kept.subarray(from, to), pageSize)
        start('write', cb, () => this.put(name, offset, kept), () => {
          // pages go to the disk in any order, and a system call may stop between two
          if (random() < 0.5) return put(0, random.below(kept.length + 1))
          const edge = pageSize - offset % pageSize
          for (let at = 0, end = edge; at < kept.length; at = end, end += pageSize) {
            if (random() < 0.5) put(at, end)
          }
        })
      },
      punch: (offset, length, cb) => {
        const zeros = (from, to) => this.get(name).write(offset + from, Buffer.alloc(to - from), pageSize)
        start('punch', cb, () => zeros(0, length), () => {
          // whole pages are freed in any order
          for (let at = 0, end = pageSize - offset % pageSize; at < length; at = end, end += pageSize) {
            if (random() < 0.5) zeros(at, Math.min(end, length))
          }
        })
      },
      canPunch: () => true,
      allocated: () => null,
      truncate: (length, cb) => start('truncate', cb, () => this.get(name).truncate(length, pageSize)),
      sync: (cb) => {
        // what was written before the call is synced, not what comes while it runs
        const file = this.get(name)
        const covered = file.state()
        start('sync', cb, () => file.sync(covered))
      },
      close: (cb) => {
        start('close', cb, () => {})
        state.isClosed = true
      }
    }
  }

  /**
   * @param {string} name
   * @returns {import('../../lib/storage/path-file').LogFile}
   */
  file (name) {
    const { state, start, ...file } = this.opened(name)
    return {
      ...file,
      filename: name,
      metadata: this.metadataFile(name, state, start),
      keepCut: (offset, end, cb) => start('keepCut', cb, () => {
        const cut = `${name}.cut-${offset}`
        this.files.set(cut, new DiskFile(this.get(name).read(offset, end - offset)))
        return cut
      }),
      location: NOWHERE,
      status: () => statusOf(this.get(name).bytes),
      checkPath: (cb) => cb(null),
      watch: noWatch,
      readSmall: (offset, size, isShared, cb) => file.read(offset, size, cb),
      readMany: readEach(file.read),
      writeMany: writeJoined(file.write)
    }
  }

  /** FILE.meta beside the file. */
  metadataFile (name, state, start) {
    return new SimulatedMetadata({
      versions: this.metadataVersions,
      pageSize: this.pageSize,
      start,
      runNow: (kind, apply, applyPart) => {
        if (state.isClosed) this.misuses.push(`${kind} after close`)
        this.runNow(kind, apply, applyPart)
      },
      hasRoom: (size) => this.get(name).length + size <= this.capacity,
      published: (acknowledged) => {
        if (state.isClosed) this.misuses.push('publish after close')
        this.note(`  publish ${acknowledged}`)
      }
    })
  }

  /** What FILE.meta says; null: there is none. @returns {import('../../lib/storage/metadata-text').Metadata | null} */
  get metadata () {
    return linesOf(this.metadataVersions.at(-1) ?? null)?.metadata ?? null
  }

  /** @param {import('../../lib/storage/metadata-text').Metadata} metadata as a writer has left it that was killed */
  leaveMetadata (metadata) {
    this.metadataVersions = [new DiskFile(Buffer.from(formatMetadata(metadata, metadata.end), 'latin1'))]
  }

  /** What a power cut may leave of it, at least. */
  get durableMetadata () {
    return this.metadataVersions.map(file => durableMetadata(file, this.pageSize))
  }

  /** The process was killed, the machine goes on: everything the system was given is there, though a power cut may still take it. */
  afterKill () {
    return this.next((file) => file.copy(), this.metadataVersions)
  }

  /** The power went. */
  afterPowerLoss () {
    return this.next((file) => file.afterPowerLoss(this.random, this.pageSize), [this.random.pick(this.metadataVersions)])
  }

  next (fileOf, metadataVersions) {
    this.turnOff()
    const { random, pageSize, clock, delay } = this
    const disk = new Disk({ random, pageSize, clock, delay })
    for (const [name, file] of this.files) disk.files.set(name, fileOf(file))
    disk.metadataVersions = metadataVersions.map(file => file === null ? null : fileOf(file))
    disk.note = this.note
    return disk
  }
}

function outcomeOf (apply) {
  try {
    return { err: null, result: apply() }
  } catch (err) {
    return { err, result: undefined }
  }
}

function failure (code) {
  return Object.assign(new Error(`${code}: made to fail`), { code })
}

module.exports = { Disk, randomFrom }
