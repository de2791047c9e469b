'use strict'

// Files that are written while more is added to them.

const crypto = require('crypto')
const fs = require('fs')
const test = require('tape')
const { OutFile } = require('../lib/out-file')
const { testFolder } = require('../../../test/helpers/folder')

const MIB = 1024 * 1024

/** Adds bytes as writers of records do, and writes without waiting where that is possible. */
async function addAll (file, parts) {
  const counts = { waits: 0, most: 0 }
  for (const part of parts) {
    file.reserve(part.length)
    file.copy(file.used, part, 0, part.length)
    file.used += part.length
    counts.most = Math.max(counts.most, file.size - file.written)
    if (!file.isFull || file.startWrite()) continue
    counts.waits++
    await file.write()
  }
  await file.sync()
  await file.close()
  return counts
}

test('a file has what was added, in order, though more is added while it is written', async (t) => {
  const name = testFolder(t)
  const parts = Array.from({ length: 300 }, (_, i) => crypto.randomBytes(i % 50 === 7 ? 5 * MIB : 1 + i * 37 % 65536))
  const { waits } = await addAll(await OutFile.create(name('out')), parts)
  t.ok(fs.readFileSync(name('out')).equals(Buffer.concat(parts)))
  t.ok(waits > 0, 'it had to wait for writes')
})

test('what waits to be written is limited, also of large records', async (t) => {
  const name = testFolder(t)
  const part = crypto.randomBytes(10 * MIB)
  const { most } = await addAll(await OutFile.create(name('out')), Array(8).fill(part))
  t.ok(most <= 3 * part.length, `${most} bytes`)
  t.equal(fs.statSync(name('out')).size, 8 * part.length)
})
