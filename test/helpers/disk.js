'use strict'

// A disk in memory that forgets like a real one. It keeps every version of a page
// since the last sync; when the power goes, each page comes back as one of them,
// each for itself, and the file's length too. It can also fail, tear, drop or
// hold back the Nth operation. `disk.file(name)` is a file as lib/storage/path-file.js makes them.

const { readEach, writeJoined } = require('../../lib/storage/buffers')

/** A random source with a seed (mulberry32), so that a run can be repeated. */
function randomFrom (seed) {
  let state = seed >>> 0
  const random = () => {
    state = (state + 0x6D2B79F5) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ mixed >>> 15, mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61)
    return ((mixed ^ mixed >>> 14) >>> 0) / 4294967296
  }
  random.below = (n) => Math.floor(random() * n)
  random.pick = (list) => list[random.below(list.length)]
  return random
}

class DiskFile {
  constructor (bytes = Buffer.alloc(0)) {
    this.bytes = bytes
    /** the bytes, and zeros behind them */
    this.room = bytes
    /** how often the file was changed */
    this.version = 0
    /** page number -> what it was since the last sync, the synced one first, each with its version */
    this.pages = new Map()
    this.lengths = [{ version: 0, value: bytes.length }]
  }

  page (number, pageSize) {
    const page = Buffer.alloc(pageSize)
    this.bytes.subarray(number * pageSize, (number + 1) * pageSize).copy(page)
    return page
  }

  change (offset, end, pageSize, apply) {
    const first = Math.floor(offset / pageSize)
    const last = Math.floor(Math.max(offset, end - 1) / pageSize)
    for (let number = first; number <= last; number++) {
      if (!this.pages.has(number)) this.pages.set(number, [{ version: this.version, value: this.page(number, pageSize) }])
    }
    apply()
    const version = ++this.version
    for (let number = first; number <= last; number++) this.pages.get(number).push({ version, value: this.page(number, pageSize) })
    this.lengths.push({ version, value: this.bytes.length })
  }

  write (offset, data, pageSize) {
    this.change(offset, offset + data.length, pageSize, () => {
      this.resize(Math.max(this.bytes.length, offset + data.length))
      data.copy(this.bytes, offset)
    })
  }

  truncate (length, pageSize) {
    this.change(length, this.bytes.length, pageSize, () => {
      this.resize(length)
    })
  }

  /** What is new is zeros. */
  resize (length) {
    const before = this.bytes.length
    if (length > this.room.length) {
      this.room = Buffer.alloc(length * 2)
      this.bytes.copy(this.room)
    } else if (length < before) this.room.fill(0, length, before)
    this.bytes = this.room.subarray(0, length)
  }

  /** @param {number} version up to which the file is on the disk */
  sync (version) {
    this.lengths = since(this.lengths, version)
    for (const [number, versions] of this.pages) {
      const left = since(versions, version)
      if (left.length === 1) this.pages.delete(number)
      else this.pages.set(number, left)
    }
  }

  /** What the disk holds after the power was gone. */
  afterPowerLoss (random, pageSize) {
    const length = random.pick(this.lengths).value
    const longest = Math.max(length, this.bytes.length)
    const bytes = Buffer.alloc(Math.ceil(longest / pageSize) * pageSize)
    this.bytes.copy(bytes)
    for (const [number, versions] of this.pages) {
      if (number * pageSize < bytes.length) random.pick(versions).value.copy(bytes, number * pageSize)
    }
    return Buffer.from(bytes.subarray(0, length))
  }
}

class Disk {
  /**
   * @param {{ random?: ReturnType<typeof randomFrom>, pageSize?: number }} [options]
   */
  constructor ({ random = randomFrom(1), pageSize = 4096 } = {}) {
    this.random = random
    this.pageSize = pageSize
    /** name -> DiskFile */
    this.files = new Map()
    /** a recovery point's versions since it was last certain, the certain one first */
    this.points = [null]
    this.operations = 0
    this.isOff = false
    /** resolves when the disk goes off */
    this.off = new Promise(resolve => { this.turnOff = () => { this.isOff = true; resolve(null) } })
    /** what is to happen to which operation: number -> 'fail' | 'tear' | 'drop' | 'hold' | 'off' */
    this.plan = new Map()
    /** which kinds of operation are counted */
    this.kinds = null
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
    const fate = this.kinds === null || this.kinds.includes(kind) ? this.plan.get(++this.operations) : undefined
    if (fate === 'off') {
      // the power goes while this is under way: not at all, in part, or just done
      this.random.pick([() => {}, applyPart, apply])()
      this.turnOff()
      return
    }
    if (fate === 'fail') return this.answer(cb, failure('EIO'))
    if (fate === 'tear') {
      applyPart()
      return this.answer(cb, failure('ENOSPC'))
    }
    if (fate === 'drop') return this.answer(cb, null) // a lying disk
    const result = apply()
    if (fate === 'hold') return setImmediate(() => setImmediate(() => this.isOff || cb(null, result)))
    this.answer(cb, null, result)
  }

  answer (cb, err, result) {
    setImmediate(() => { if (!this.isOff) cb(err, result) })
  }

  /**
   * @param {string} name
   * @returns {import('../../lib/storage/path-file').LogFile}
   */
  file (name) {
    const { pageSize, random } = this
    const get = () => {
      if (!this.files.has(name)) this.files.set(name, new DiskFile())
      return this.files.get(name)
    }
    const file = {
      filename: name,
      open: (cb) => this.operation('open', cb, get),
      size: (cb) => this.operation('size', cb, () => get().bytes.length),
      read: (offset, size, cb) => this.operation('read', (err, data) => {
        if (!err && data.length < size) err = failure('EPARTIALREAD')
        cb(err, data)
      }, () => Buffer.from(get().bytes.subarray(offset, offset + size))),
      write: (offset, data, cb) => {
        const kept = Buffer.from(data)
        this.operation('write', cb, () => get().write(offset, kept, pageSize), () => {
          // pages go to the disk in any order, and a system call may stop between two
          if (random() < 0.5) return get().write(offset, kept.subarray(0, random.below(kept.length + 1)), pageSize)
          const edge = pageSize - offset % pageSize
          for (let at = 0, end = edge; at < kept.length; at = end, end += pageSize) {
            if (random() < 0.5) get().write(offset + at, kept.subarray(at, end), pageSize)
          }
        })
      },
      truncate: (length, cb) => this.operation('truncate', cb, () => get().truncate(length, pageSize)),
      sync: (cb) => {
        // what was written before the call is synced, not what comes while it runs
        const file = get()
        const { version } = file
        this.operation('sync', cb, () => file.sync(version))
      },
      close: (cb) => this.operation('close', cb, () => {}),
      point: {
        read: (cb) => this.operation('point.read', cb, () => clone(this.points[this.points.length - 1])),
        write: (point, cb) => {
          const kept = clone(point)
          this.operation('point.write', cb, () => { this.points = [kept] }, () => { if (random() < 0.5) this.points.push(kept) })
        },
        publish: () => {},
        release: () => {},
        remove: (cb) => this.operation('point.remove', cb, () => { this.points = [null] }, () => { this.points.push(null) })
      },
      keepCut: (offset, end, cb) => this.operation('keepCut', cb, () => {
        const cut = `${name}.cut-${offset}`
        this.files.set(cut, new DiskFile(Buffer.from(get().bytes.subarray(offset, end))))
        return cut
      }),
      checkPath: null,
      watch: null
    }
    return { ...file, readSmall: (offset, size, isShared, cb) => file.read(offset, size, cb), readMany: readEach(file.read), writeMany: writeJoined(file.write) }
  }

  /** The process was killed, the machine goes on: everything the system was given is there. */
  afterKill () {
    return this.next((file) => file.bytes, this.points[this.points.length - 1])
  }

  /** The power went. */
  afterPowerLoss () {
    return this.next((file) => file.afterPowerLoss(this.random, this.pageSize), this.random.pick(this.points))
  }

  next (bytesOf, point) {
    this.turnOff()
    const disk = new Disk({ random: this.random, pageSize: this.pageSize })
    for (const [name, file] of this.files) disk.files.set(name, new DiskFile(bytesOf(file)))
    disk.points = [point]
    return disk
  }
}

/** The last that is not newer than `version`, and all after it. */
function since (versions, version) {
  return versions.slice(Math.max(0, versions.findLastIndex(one => one.version <= version)))
}

function failure (code) {
  return Object.assign(new Error(`${code}: made to fail`), { code })
}

function clone (point) {
  return point === null ? null : { offset: point.offset, rewrites: point.rewrites.map(rewrite => ({ ...rewrite, data: Buffer.from(rewrite.data) })) }
}

module.exports = { Disk, randomFrom }
