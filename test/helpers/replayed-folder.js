'use strict'

// What a folder may hold after a power cut, by the calls that were made until then: what
// was fsynced is there; of the rest each sector, each length and each name may be.

const fs = require('fs')
const path = require('path')
const { DiskFile } = require('./disk-file')

const SECTOR = 512

class ReplayedFolder {
  /** @param {string} root the folder in which the program worked; what it did elsewhere is left out */
  constructor (root) {
    this.root = root
    /** path -> the versions of what the name stands for since its folder was fsynced, the certain one first */
    this.names = new Map()
    /** path -> how many versions before these an fsync has made impossible */
    this.impossible = new Map()
    /** Renames, each with the version that either name got by it. @type {Array<{ from: string, gone: number, to: string, there: number }>} */
    this.renames = []
    /** @type {Map<number, { file: DiskFile | null, path: string, position: number }>} */
    this.descriptors = new Map()
    /** Calls that were started and have not ended, with what an fsync among them covers. */
    this.pending = new Map()
    /** Lines that the program has written to stdout. @type {string[]} */
    this.told = []
  }

  /** @param {import('./recorded-calls').CallEvent} event */
  apply (event) {
    // at once: another file may get the descriptor before the program knows that this one is closed
    if (event.start === 'close') this.descriptors.delete(event.fd)
    if (event.start !== undefined) return this.pending.set(event.id, { ...event, covered: this.coveredBy(event) })
    const call = this.pending.get(event.id)
    this.pending.delete(event.id)
    if (event.result >= 0) this.take(call, event.result)
  }

  /** What an fsync that starts now will have made durable when it ends. */
  coveredBy ({ start, fd }) {
    const open = this.descriptors.get(fd)
    if (start !== 'fsync' || open === undefined) return null
    if (open.file !== null) return open.file.state()
    return [...this.names].filter(([name]) => path.dirname(name) === open.path).map(([name, versions]) => [name, this.forgotten(name) + versions.length])
  }

  take ({ start, fd, path: name, from, creates, empties, data, offset, size, covered }, result) {
    const open = this.descriptors.get(fd)
    if (start === 'open') return this.open(result, path.resolve(name), creates, empties)
    if (start === 'write' && fd === 1) return this.told.push(...data.toString().split('\n').filter(line => line !== ''))
    if (['rename', 'link', 'unlink', 'mkdir'].includes(start)) return this.changeNames(start, path.resolve(name), from && path.resolve(from))
    if (open === undefined || start === 'close') return
    if (start === 'write') {
      const at = offset ?? open.position
      if (offset === null) open.position += data.length
      if (data.length > 0) open.file?.write(at, data, SECTOR)
    } else if (start === 'ftruncate') open.file.truncate(size, SECTOR)
    else if (open.file !== null) open.file.sync(covered)
    else for (const [covers, count] of covered) this.forget(covers, count - 1)
  }

  /** How many versions of a name an fsync has made impossible. */
  forgotten (name) {
    return this.impossible.get(name) ?? 0
  }

  /** Of two fsyncs at the same time, the second may cover less than the first. */
  forget (name, count) {
    const more = Math.max(0, count - this.forgotten(name))
    this.names.set(name, this.names.get(name).slice(more))
    this.impossible.set(name, this.forgotten(name) + more)
  }

  open (fd, name, creates, empties) {
    if (!this.isInside(name)) return
    let file = this.current(name)
    if (file === undefined && creates) {
      file = new DiskFile()
      this.setName(name, file)
    }
    if (empties && file?.length > 0) file.truncate(0, SECTOR)
    this.descriptors.set(fd, { file: file ?? null, path: name, position: 0 })
  }

  changeNames (start, name, from) {
    if (!this.isInside(name)) return
    if (start === 'unlink') this.setName(name, undefined)
    if (start === 'rename' || start === 'link') this.setName(name, this.current(from))
    if (start !== 'rename' || !this.isInside(from)) return
    this.setName(from, undefined)
    this.renames.push({ from, gone: this.lastVersion(from), to: name, there: this.lastVersion(name) })
  }

  isInside (name) {
    return name === this.root || name.startsWith(this.root + path.sep)
  }

  /** Counted from the first one that it ever had. */
  lastVersion (name) {
    return this.forgotten(name) + this.names.get(name).length - 1
  }

  current (name) {
    return this.names.get(name)?.at(-1)
  }

  setName (name, file) {
    if (!this.names.has(name)) this.names.set(name, [undefined])
    this.names.get(name).push(file)
  }

  /**
   * Makes the folder as one of the power cuts that may come now would leave it.
   * @param {string} folder that is there, and empty
   * @param {ReturnType<import('./random').randomFrom>} random
   */
  materialize (folder, random) {
    const isAllLost = random() < 0.2
    const chosen = new Map([...this.names].map(([name, versions]) => [name, this.forgotten(name) + (isAllLost ? 0 : random.below(versions.length))]))
    // a rename is atomic
    for (const { from, gone, to, there } of this.renames) {
      if (chosen.get(from) >= gone || chosen.get(to) >= there) {
        chosen.set(from, Math.max(chosen.get(from), gone))
        chosen.set(to, Math.max(chosen.get(to), there))
      }
    }
    for (const [name, versions] of this.names) {
      const file = versions[chosen.get(name) - this.forgotten(name)]
      if (file === undefined) continue
      fs.writeFileSync(path.join(folder, path.relative(this.root, name)), this.bytesOf(file, random))
    }
  }

  /**
   * Makes the folder as a process that is killed now leaves it.
   * @param {string} folder that is there, and empty
   */
  materializeAll (folder) {
    for (const [name, versions] of this.names) {
      const file = versions.at(-1)
      if (file !== undefined) fs.writeFileSync(path.join(folder, path.relative(this.root, name)), file.bytes)
    }
  }

  /** @param {DiskFile} file */
  bytesOf (file, random) {
    const copy = file.copy()
    for (const call of this.pending.values()) {
      // what is in progress may have done a part of it
      if (call.start === 'write' && call.offset !== null && this.descriptors.get(call.fd)?.file === file && random() < 0.5) {
        copy.write(call.offset, call.data.subarray(0, random.below(call.data.length + 1)), SECTOR)
      } else if (call.start === 'ftruncate' && this.descriptors.get(call.fd)?.file === file && random() < 0.5) copy.truncate(call.size, SECTOR)
    }
    return copy.afterPowerLoss(random, SECTOR).bytes
  }
}

module.exports = { ReplayedFolder }
