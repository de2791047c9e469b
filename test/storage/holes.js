'use strict'

// Ranges of a file whose space is freed.

const fs = require('fs')
const path = require('path')
const tape = require('tape')
const { pathFile } = require('../../lib/storage/path-file')
const { testFolder } = require('../helpers/folder')
const { isNode } = require('../helpers/runtime')
const { start } = require('../helpers/processes')

const PAGE = 4096
const WITHOUT_NATIVE_PART = path.join(__dirname, '../helpers/programs/without-native-part.js')

tape('a range that is punched reads as zeros, and all around it stays', async (t) => {
  for (const [offset, length] of [[0, PAGE], [PAGE, 3 * PAGE], [100, 5 * PAGE], [PAGE - 1, PAGE + 2], [10, 20], [PAGE - 1, 2], [0, 16 * PAGE], [5, 0]]) {
    const { file, filename, bytes } = await filled(t, 16 * PAGE)
    await file.io.punch(offset, length)
    await file.io.sync()
    bytes.fill(0, offset, offset + length)
    t.ok(fs.readFileSync(filename).equals(bytes), `${length} bytes at ${offset}`)
    await file.io.close()
  }
})

tape('it takes no space any more where the file can have holes, and the size stays', async (t) => {
  const { file, filename } = await filled(t, 64 * PAGE)
  await file.io.sync()
  const before = fs.statSync(filename)
  await file.io.punch(PAGE + 1, 60 * PAGE)
  const after = fs.statSync(filename)
  t.equal(after.size, before.size)
  t.equal(typeof file.canPunch(), 'boolean', 'now it is known whether it can')
  t.equal(before.blocks - after.blocks, file.canPunch() ? 59 * PAGE / 512 : 0, 'what is freed are the whole pages')
  if (process.platform === 'linux' && isNode) t.equal(file.canPunch(), true)
  await file.io.close()
})

tape('without anything to punch holes with, zeros are written', async (t) => {
  const [filename, size, offset, length] = [testFolder(t)('log'), 3 * 1024 * 1024, 10, 2 * 1024 * 1024]
  const program = start(t, 'punch.js', { filename, size, offset, length }, { preload: [WITHOUT_NATIVE_PART] })
  t.deepEqual(await program.message(() => true), { before: false, after: false })
  t.equal((await program.over).code, 0)
  t.ok(fs.readFileSync(filename).equals(Buffer.alloc(size, 7).fill(0, offset, offset + length)))
})

tape('a file is closed when what is being punched is done', async (t) => {
  const { file, filename, bytes } = await filled(t, 16 * PAGE)
  const punched = file.io.punch(0, 8 * PAGE)
  await Promise.all([file.io.close(), punched])
  t.ok(fs.readFileSync(filename).equals(bytes.fill(0, 0, 8 * PAGE)))
  t.equal(await file.io.punch(0, PAGE).then(() => null, ({ code }) => code), 'flumelog:closed', 'and nothing after that')
})

async function filled (t, size) {
  const filename = testFolder(t)('log')
  const file = pathFile(filename, { readOnly: false, lock: false })
  await file.io.open()
  const bytes = Buffer.alloc(size, 7)
  await file.io.write(0, bytes)
  return { file, filename, bytes }
}
