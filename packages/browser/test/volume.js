'use strict'

// The files of a log in a browser, over a directory in memory: their names survive torn writes, and a gap is read as the zeros that it stands for.

const test = require('tape')
const { randomFrom } = require('../../../test/helpers/random')

const LOG = 'log'

/** As much of the origin private file system as a volume uses. A power cut takes what was not flushed, or tears it. */
class Directory {
  /** @param {Map<string, any>} [entries] */
  constructor (entries = new Map()) {
    this.entries = entries
    this.calls = 0
  }

  async getDirectoryHandle (name, { create }) {
    if (!this.entries.has(name) && !create) throw named('NotFoundError')
    if (!this.entries.has(name)) this.entries.set(name, new Directory())
    return this.entries.get(name)
  }

  async getFileHandle (name, { create }) {
    if (!this.entries.has(name) && !create) throw named('NotFoundError')
    if (!this.entries.has(name)) this.entries.set(name, new File_())
    return { createSyncAccessHandle: async (options) => this.entries.get(name).open(options) }
  }

  async removeEntry (name) {
    if (this.entries.get(name).isOpen) throw named('NoModificationAllowedError')
    this.entries.delete(name)
  }

  async * keys () { yield * this.entries.keys() }
}

class File_ {
  /** @param {Buffer} [bytes] */
  constructor (bytes = Buffer.alloc(0)) {
    this.bytes = bytes
    this.durable = bytes
    this.isOpen = false
  }

  open ({ mode = 'readwrite' } = {}) {
    if (this.isOpen && mode === 'readwrite') throw named('NoModificationAllowedError')
    this.isOpen = true
    return this
  }

  close () { this.isOpen = false }
  getSize () { return this.bytes.length }
  flush () { this.durable = Buffer.from(this.bytes) }
  truncate (size) { this.bytes = Buffer.concat([this.bytes.subarray(0, size), Buffer.alloc(Math.max(0, size - this.bytes.length))]) }
  read (into, { at }) { return at < this.bytes.length ? this.bytes.copy(into, 0, at) : 0 }

  write (bytes, { at }) {
    const next = Buffer.alloc(Math.max(this.bytes.length, at + bytes.length))
    this.bytes.copy(next)
    next.set(bytes, at)
    this.bytes = next
    return bytes.length
  }

  /** After a power cut: of what was not flushed, some pages are there. */
  torn (random) {
    const bytes = Buffer.from(this.bytes)
    for (let page = 0; page < bytes.length; page += 16) {
      if (random.below(2) === 0) continue
      bytes.fill(0, page, Math.min(bytes.length, page + 16))
      if (page < this.durable.length) this.durable.copy(bytes, page, page, page + 16)
    }
    return new File_(bytes)
  }
}

function named (name) {
  return Object.assign(new Error(name), { name })
}

/** @param {Directory} root */
function install (t, root) {
  const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator')
  const locks = { request: async (name, options, run) => run({ name }) }
  Object.defineProperty(globalThis, 'navigator', { value: { locks, storage: { getDirectory: async () => root } }, configurable: true })
  t.teardown(() => before === undefined ? Reflect.deleteProperty(globalThis, 'navigator') : Object.defineProperty(globalThis, 'navigator', before))
}

const directoryIn = (root) => root.entries.get('flumelog').entries.get(LOG)
const namesOf = (volume) => Object.fromEntries(Array.from(volume.inodes, ([name, { number }]) => [name, number]))

for (const isShared of [false, true]) {
  test(`names${isShared ? ' of a shared log' : ''} survive a power cut at any moment, as they were at the last sync or at a change since, and their files do`, async (t) => {
    const mount = isShared ? mountAsOwner : async () => require('../lib/volume').Volume.mount(LOG, false)
    if (isShared) standIn(t)
    for (let seed = 1; seed <= 100; seed++) {
      const random = randomFrom(seed)
      const root = new Directory()
      install(t, root)
      let volume = await mount()
      /** What may be found: the names at the last sync, and those after each change since. */
      let possible = [namesOf(volume)]
      const changed = () => possible.push(namesOf(volume))
      for (let step = 0; step < 20; step++) {
        const names = [...volume.inodes.keys()]
        const call = random.below(5)
        if (call === 0 || names.length === 0) {
          volume.change(`${LOG}.${step}`, await volume.create())
          changed()
        } else if (call === 1 && names.length > 1) {
          const [from, to] = [random.pick(names), random.pick(names)]
          if (from === to) continue
          volume.change(to, volume.inodes.get(from), from)
          changed()
        } else if (call === 2) {
          volume.change(random.pick(names), null)
          changed()
        } else if (call === 3) {
          await terminate(volume)
          volume = await mount()
          changed()
        } else {
          volume.sync()
          possible = [namesOf(volume)]
        }
      }
      await terminate(volume)
      const { entries } = directoryIn(root)
      const after = new Directory(new Map(Array.from(entries, ([name, file]) => [name, file.torn(random)])))
      root.entries.get('flumelog').entries.set(LOG, after)
      const { files } = require('../lib/volume').readTable(after.entries.get('names'))
      const found = Object.fromEntries(Object.entries(files).map(([name, [number]]) => [name, number]))
      if (!possible.some(names => JSON.stringify(names) === JSON.stringify(found))) t.fail(`seed ${seed}: ${JSON.stringify(found)} is none of ${JSON.stringify(possible)}`)
      const missing = Object.values(found).filter(number => !after.entries.has(String(number)))
      t.deepEqual(missing, [], `seed ${seed}: the files with these names are there`)
      const again = await mount()
      await again.removed
      t.deepEqual([...after.entries.keys()].filter(name => name !== 'names').sort(), [...new Set(Object.values(namesOf(again)).map(String))].sort(), `seed ${seed}: files without a name are removed`)
      await again.unmount()
    }
  })
}

test('what is synced by a worker that becomes the owner of a shared log is there after a power cut, under the name that the owner before gave it', async (t) => {
  standIn(t)
  const { SharedVolume } = require('../lib/shared-volume')
  const root = new Directory()
  install(t, root)
  const first = await mountAsOwner()
  const second = await SharedVolume.mount(LOG)
  second.sync()
  first.change(`${LOG}.meta`, await first.create())
  await terminate(first)
  second.own()
  await second.prepare()
  second.inodes.get(`${LOG}.meta`).sync()
  const { files } = require('../lib/volume').readTable(new File_(directoryIn(root).entries.get('names').durable))
  t.deepEqual(Object.keys(files), [LOG, `${LOG}.meta`])
  await terminate(second)
})

/** As by a worker that is the only one to have the log open. */
async function mountAsOwner () {
  const { SharedVolume } = require('../lib/shared-volume')
  const volume = await SharedVolume.mount(LOG)
  volume.own()
  await volume.prepare()
  return volume
}

/** @param {import('../lib/volume').Volume} volume what is removed is so, and nothing is flushed */
async function terminate (volume) {
  await new Promise(resolve => setImmediate(resolve))
  await volume.removed
  volume.channel?.close()
  volume.ending?.abort()
  volume.closeHandles()
}

/** What a shared log needs of a browser. */
function standIn (t) {
  // a MessageChannel would keep this process alive
  require.cache[require.resolve('../lib/later')] = /** @type {any} */ ({ exports: { later: setImmediate } })
  globalThis.FileSystemSyncAccessHandle = class { get mode () { return '' } }
  t.teardown(() => Reflect.deleteProperty(globalThis, 'FileSystemSyncAccessHandle'))
}

test('a file with a gap is read, written and truncated as one with zeros', async (t) => {
  const { Volume } = require('../lib/volume')
  for (let seed = 1; seed <= 100; seed++) {
    const random = randomFrom(seed)
    const root = new Directory()
    install(t, root)
    let volume = await Volume.mount(LOG, false)
    volume.change(LOG, await volume.create())
    let expected = Buffer.alloc(0)
    const write = (bytes, position) => {
      t.equal(volume.inodes.get(LOG).write(bytes, position), bytes.length)
      const next = Buffer.alloc(Math.max(expected.length, position + bytes.length))
      expected.copy(next)
      bytes.copy(next, position)
      expected = next
    }
    const some = (length) => Buffer.from(Array.from({ length }, () => 1 + random.below(255)))
    write(some(1 + random.below(5000)), 0)
    const front = expected.length
    const behind = front + 300000 + random.below(500000)
    write(some(1 + random.below(5000)), behind)
    t.ok(volume.inodes.get(LOG).stored < 20000, 'the gap is not stored')
    for (let step = 0; step < 10; step++) {
      const call = random.below(6)
      if (call === 0) write(some(1000), expected.length)
      else if (call === 1) write(some(1 + random.below(front)), 0)
      else if (call === 2) write(Buffer.alloc(1000), front + 5000 + random.below(100000))
      else if (call === 3) {
        volume.inodes.get(LOG).sync()
        await volume.unmount()
        volume = await Volume.mount(LOG, true)
      } else {
        const size = call === 4 ? behind + random.below(1000) : random.below(behind)
        if (size > expected.length || (call === 5 && step < 9)) continue
        volume.inodes.get(LOG).truncate(size)
        expected = expected.subarray(0, size)
      }
      const inode = volume.inodes.get(LOG)
      const [start, length] = [random.below(expected.length + 1), random.below(expected.length + 1)]
      const bytes = Buffer.alloc(length, 255)
      const read = inode.read(bytes, start)
      const same = inode.size === expected.length && bytes.subarray(0, read).equals(expected.subarray(start, start + length))
      if (!same) t.fail(`seed ${seed}, step ${step}: ${inode.size} bytes instead of ${expected.length}, ${read} read of ${length} at ${start}`)
    }
    await volume.unmount()
  }
  t.end()
})

test('what is not zero is refused in a gap, and nothing is changed', async (t) => {
  const { Volume } = require('../lib/volume')
  install(t, new Directory())
  const volume = await Volume.mount(LOG, false)
  volume.change(LOG, await volume.create())
  const inode = volume.inodes.get(LOG)
  inode.write(Buffer.from('front'), 0)
  inode.write(Buffer.from('behind'), 1000000)
  t.throws(() => inode.write(Buffer.from('middle'), 500000), { code: 'EIO' })
  const bytes = Buffer.alloc(1000006)
  t.equal(inode.read(bytes, 0), 1000006)
  t.ok(bytes.equals(Buffer.concat([Buffer.from('front'), Buffer.alloc(999995), Buffer.from('behind')])))
  await volume.unmount()
})

test('bytes that are to be written later are read at once, and in the file before all else that is done with it, and when it is closed', async (t) => {
  const { Volume } = require('../lib/volume')
  const root = new Directory()
  install(t, root)
  const volume = await Volume.mount(LOG, false)
  volume.change(LOG, await volume.create())
  const inode = volume.inodes.get(LOG)
  const stored = () => String(directoryIn(root).entries.get(String(inode.number)).bytes)
  inode.write(Buffer.from('aaaaa'), 0)
  const uses = {
    read: () => inode.read(Buffer.alloc(5), 0),
    write: () => inode.write(Buffer.from('aa'), 3),
    truncate: () => inode.truncate(5),
    sync: () => inode.sync()
  }
  for (const [name, use] of Object.entries(uses)) {
    inode.write(Buffer.from('aaa'), 0)
    t.equal(inode.writeLater(Buffer.from('b')), 1)
    inode.writeLater(Buffer.from('ccc'))
    t.equal(stored(), 'aaaaa')
    use()
    t.equal(stored(), 'cccaa', name)
  }
  inode.writeLater(Buffer.from('dd'))
  const bytes = Buffer.alloc(5)
  t.equal(inode.read(bytes, 0), 5)
  t.equal(String(bytes), 'ddcaa')
  inode.writeLater(Buffer.from('e'))
  await volume.unmount()
  t.equal(stored(), 'edcaa')
})
