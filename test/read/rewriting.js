'use strict'

// Reads a block while a deletion is rewriting it in the file.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('../..')
const { ControlledFile } = require('../helpers/controlled-file')
const { newFile } = require('../helpers/folder')
const { promises } = require('../helpers/promises')
const { codeOf } = require('../helpers/reading')

const BLOCK_SIZE = 256
const SETS = [
  { title: 'with checksums', options: {} },
  { title: 'without checksums', options: { checksum: false } }
]

test('a block that fills up while one of its records is deleted is valid', async (t) => {
  for (const isDeletedFirst of [true, false]) {
    const log = promises(FlumeLog(newFile(), { blockSize: BLOCK_SIZE, cacheSize: 0 }))
    await log.append('one')
    await log.append('two')
    const made = []
    if (isDeletedFirst) made.push(log.del(7))
    made.push(log.append(Array.from({ length: 10 }, () => Buffer.alloc(60, 'more'))))
    if (!isDeletedFirst) made.push(log.del(7))
    await Promise.all(made)
    t.equal(String(await log.get(0)), 'one', 'also as it is in the file')
    t.equal(await codeOf(log.get(7)), 'flumelog:deleted')
    await log.close()
  }
})

for (const { title, options } of SETS) {
  test(`of a block that a deletion has half rewritten all but the deleted record is read as it was, ${title}`, async (t) => {
    const file = new ControlledFile()
    const log = file.open({ blockSize: BLOCK_SIZE, cacheSize: 0, sync: 'always', ...options })
    const seqs = []
    for (let i = 0; i < 20; i++) seqs.push(await log.append(Buffer.alloc(40, 'a' + i)))
    const inFirstBlock = seqs.filter(seq => seq < BLOCK_SIZE)
    const values = []
    for (const seq of inFirstBlock) values.push(await log.get(seq))

    file.held.add('write')
    const deleted = log.del(inFirstBlock[0])
    const write = await file.next('write')
    // the first half of the block has got its zeros, the second one not its checksum
    const fd = fs.openSync(file.name, 'r+')
    fs.writeSync(fd, Buffer.alloc(40), 0, 40, 2)
    fs.closeSync(fd)
    for (const [i, seq] of inFirstBlock.entries()) if (i > 0) t.ok(values[i].equals(await log.get(seq)), `the record at ${seq}`)
    t.equal(await codeOf(log.get(inFirstBlock[0])), 'flumelog:deleted', 'which is not read in part')
    file.held.clear()
    write.finish()
    await deleted
    t.equal(await codeOf(log.get(inFirstBlock[0])), 'flumelog:deleted')
    t.ok(values[1].equals(await log.get(inFirstBlock[1])), 'and the others are as they were')
    await log.close()
  })
}
