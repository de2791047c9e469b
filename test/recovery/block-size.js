'use strict'

// The block size of an existing file: how it is detected, and conflicts with the option.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('../..')
const { findBlockSize } = require('../../lib/recovery/block-size')
const { promises } = require('../helpers/promises')
const { testFolder } = require('../helpers/folder')
const { sealedBlock, tailOf, dataOf } = require('../helpers/bytes')
const { collect, codeOf } = require('../helpers/reading')

const USUAL = 65536

/** The block size detected in these bytes; every read must be within them. */
function find (bytes, given) {
  const read = async (offset, size) => {
    if (!Number.isInteger(offset) || offset < 0 || size < 0 || offset + size > bytes.length) throw new Error(`read of ${size} at ${offset} is outside`)
    return bytes.subarray(offset, offset + size)
  }
  return findBlockSize(read, bytes.length, given, USUAL, 'the file')
}

/** A number of blocks, with a few records each, and a tail. */
function fileOf (blockSize, blocks, options) {
  const third = Math.floor((blockSize - 10) / 3) - 4
  const records = [dataOf(third, 1), dataOf(third, 2), dataOf(1, 3)]
  return Buffer.concat([...new Array(blocks).fill(sealedBlock(blockSize, records, options)), tailOf([dataOf(third)])])
}

test('every block size is detected', async (t) => {
  const wrong = []
  for (let blockSize = 32; blockSize <= 65536; blockSize += blockSize < 512 || blockSize > 65500 ? 1 : 499) {
    for (const checksum of [true, false]) {
      const found = await find(fileOf(blockSize, 1, { checksum }))
      if (found !== blockSize) wrong.push({ blockSize, checksum, found })
    }
  }
  t.deepEqual(wrong, [])
})

test('the block size is detected with any size of the first record, and in a file of a single block', async (t) => {
  const wrong = []
  for (let size = 1; size <= 91; size++) {
    for (const checksum of [true, false]) {
      if (checksum && size > 87) continue
      const found = await find(sealedBlock(101, [dataOf(size)], { checksum }))
      if (found !== 101) wrong.push({ size, checksum, found })
    }
  }
  t.deepEqual(wrong, [])
})

test('a log opened without a block size uses that of the file, also for appends', async (t) => {
  const file = testFolder(t)
  for (const blockSize of [32, 64, 77, 100, 1000, 1024, 4095, 4097, 16384, 32768, 65535, 65536]) {
    const data = Buffer.alloc(Math.floor(blockSize / 3), 1)
    const name = file(`log-${blockSize}`)
    const first = promises(FlumeLog(name, { blockSize }))
    for (let i = 0; i < 5; i++) await first.append(data)
    await first.close()
    const second = promises(FlumeLog(name))
    await second.onReady()
    if (second.log.blockSize !== blockSize) t.fail(`${second.log.blockSize} instead of ${blockSize}`)
    for (let i = 0; i < 5; i++) await second.append(data)
    await second.close()
    const third = promises(FlumeLog(name, { block: blockSize, readOnly: true }))
    t.equal((await collect(third.log, { seqs: false })).filter(value => value.equals(data)).length, 10, `${blockSize}`)
    await third.close()
  }
})

test('a block size that differs from that of the file is an error that names both, and the file is unchanged', async (t) => {
  const file = testFolder(t)
  for (const [size, given] of [[64, 65536], [64, 128], [128, 64], [100, 99], [99, 100], [65536, 64], [65535, 65536], [65536, 65535]]) {
    const name = file('log')
    fs.writeFileSync(name, fileOf(size, 2))
    const before = fs.readFileSync(name)
    const log = promises(FlumeLog(name, { blockSize: given }))
    const err = await log.onReady().then(() => null, err => err)
    t.equal(err?.code, 'flumelog:block-size', `${given} for ${size}`)
    t.ok(err.message.includes(`blockSize is ${given}, `) && err.message.includes(`${size} bytes`), err.message.replace(name, 'FILE'))
    t.equal(err.blockSize, size)
    t.equal(err.filename, name)
    t.equal(await codeOf(log.append('x')), 'flumelog:block-size')
    t.equal(await codeOf(collect(log.log)), 'flumelog:block-size')
    await log.close()
    t.ok(fs.readFileSync(name).equals(before))
    t.deepEqual(fs.readdirSync(file('.')), ['log'])
  }
})

test('a file that is all tail can be opened with any block size large enough for it', async (t) => {
  const file = testFolder(t)
  const bytes = tailOf([dataOf(10), dataOf(20), dataOf(30)]) // 72 bytes
  t.equal(await find(bytes), USUAL)
  t.equal(await find(bytes, 78), 78)
  t.equal(await find(bytes, 4000), 4000)
  t.equal(await codeOf(find(bytes, 77)), 'flumelog:block-size')
  t.equal(await codeOf(find(bytes, 32)), 'flumelog:block-size')
  fs.writeFileSync(file('log'), bytes)
  const log = promises(FlumeLog(file('log'), { blockSize: 78 }))
  t.equal(await log.append(dataOf(1)), 78, 'what follows goes into the next block')
  await log.close()
  t.equal(await find(fs.readFileSync(file('log'))), 78)
})

test('an empty file gets the given block size, or the default', async (t) => {
  t.equal(await find(Buffer.alloc(0)), USUAL)
  t.equal(await find(Buffer.alloc(0), 99), 99)
})

test('the block size is detected with the first block corrupt at any position', async (t) => {
  for (const blockSize of [32, 64, 128]) {
    for (const checksum of [true, false]) {
      const whole = fileOf(blockSize, 3, { checksum })
      const wrong = []
      for (let at = 0; at < blockSize; at++) {
        for (const byte of [0x00, 0xff, whole[at] ^ 1]) {
          const bytes = Buffer.from(whole)
          bytes[at] = byte
          for (const given of [undefined, blockSize]) {
            const found = await find(bytes, given)
            if (found !== blockSize) wrong.push({ at, byte, given, found })
          }
        }
      }
      t.deepEqual(wrong, [], `blocks of ${blockSize} bytes, ${checksum ? 'with' : 'without'} checksums`)
    }
  }
})

test('the block size is detected in a single block with corrupt data or checksum', async (t) => {
  for (const bytes of [fileOf(128, 1), sealedBlock(128, [dataOf(10), dataOf(20)])]) {
    const wrong = []
    for (let at = 2; at < 10; at++) {
      for (const place of [at, 128 - 8 + at % 4]) {
        const damaged = Buffer.from(bytes)
        damaged[place] ^= 0xff
        const found = await find(damaged)
        if (found !== 128) wrong.push({ place, found })
      }
    }
    t.deepEqual(wrong, [])
  }
})

test('a block size that differs from that of the file is an error even if the first block is corrupt', async (t) => {
  for (const [size, given] of [[64, 128], [128, 64], [1024, 65536], [65536, 1024], [65536, 65535]]) {
    for (const at of [0, 2, size - 4]) {
      const bytes = fileOf(size, 3)
      bytes[at] ^= 0xff
      const err = await find(bytes, given).then(() => null, err => err)
      t.equal(err?.code, 'flumelog:block-size', `${given} for ${size}, ${at} damaged`)
      t.equal(err?.blockSize, size)
    }
  }
})

test('the block size is detected with the first half of the file overwritten', async (t) => {
  for (const blockSize of [64, 1000, 1024, 65535, 65536]) {
    const bytes = fileOf(blockSize, Math.ceil(1e6 / blockSize))
    bytes.fill(0xa5, 0, bytes.length >> 1)
    // without a hint only sizes that are in use are tried far into the file
    if ((blockSize & (blockSize - 1)) === 0) t.equal(await find(bytes), blockSize)
    t.equal(await find(bytes, blockSize), blockSize)
  }
})

test('a log with a corrupt first block can be opened, and the other blocks are readable', async (t) => {
  const file = testFolder(t)
  for (const blockSize of [64, 1024, 65536]) {
    const bytes = fileOf(blockSize, 4)
    bytes[0] ^= 1
    fs.writeFileSync(file('log'), bytes)
    const log = promises(FlumeLog(file('log')))
    await log.onReady()
    t.equal(log.log.blockSize, blockSize)
    t.equal(await codeOf(collect(log.log)), 'flumelog:corrupt')
    t.equal((await collect(log.log, { gte: blockSize })).length, 10)
    await log.close()
    t.ok(fs.readFileSync(file('log')).equals(bytes))
  }
})

test('a record that looks like padding is not mistaken for it', async (t) => {
  // the record starts at position 5; its length, 59, is a mark for blocks of 60 bytes, and at 56 the file says that a padding starts at 5
  const record = Buffer.alloc(59)
  record.writeUInt32LE(5, 60 - 4 - 5 - 2)
  t.equal(await find(tailOf([dataOf(1), record])), USUAL)
  t.equal(await find(tailOf([dataOf(1), record]), 80), 80)
  const sealed = sealedBlock(300, [dataOf(1), record, dataOf(60)])
  t.equal(await find(sealed), 300)
  t.equal(await find(Buffer.concat([sealed, tailOf([dataOf(200)])])), 300)
  t.equal(await find(Buffer.concat([sealed, sealed])), 300)
})

test('padding that looks like a record is not mistaken for it', async (t) => {
  // where the mark is taken for a length, the next block has the same one at the place where it is expected again
  const data = Buffer.alloc(58000, 0xff)
  const bytes = Buffer.concat([sealedBlock(65536, [dataOf(1), dataOf(1000)]), sealedBlock(65536, [data]), tailOf([data])])
  t.equal(await find(bytes), 65536)
})

test('a large file that is not a log is an error, and is unchanged', async (t) => {
  const file = testFolder(t)
  for (const byte of [0, 0xff]) {
    fs.writeFileSync(file('log'), Buffer.alloc(300000, byte))
    const log = promises(FlumeLog(file('log')))
    t.equal(await codeOf(log.onReady()), 'flumelog:not-a-log')
    t.equal(await codeOf(log.append('x')), 'flumelog:not-a-log')
    await log.close()
    t.ok(fs.readFileSync(file('log')).equals(Buffer.alloc(300000, byte)))
  }
})

test('a text in which two bytes stand again at the distance that they say is not a log, and is unchanged', async (t) => {
  const folder = testFolder(t)
  const texts = ['note '.repeat(50000), 'hello, these are some notes\n'.repeat(400), 'note '.repeat(5000)]
  for (const [i, text] of texts.entries()) {
    for (const options of [{}, { blockSize: 1024 }, { readOnly: true }]) {
      const file = folder(`text${i}`)
      fs.writeFileSync(file, text)
      const log = promises(FlumeLog(file, options))
      t.equal(await codeOf(log.onReady()), 'flumelog:not-a-log', `${text.length} bytes, ${JSON.stringify(options)}`)
      await log.close()
      t.equal(fs.readFileSync(file, 'utf8'), text)
    }
  }
})

test('the error of a file that may be imported names the command, and its package', async (t) => {
  const file = testFolder(t)('old')
  for (const bytes of ['{"a":1}\n{"a":2}\n', 'a,b\n1,2\n3,4', 'Dear reader,\nthis is a letter.\n', Buffer.alloc(100, 0xff).fill(0, 50)]) {
    fs.writeFileSync(file, bytes)
    for (const readOnly of [true, false]) {
      const err = await promises(FlumeLog(file, { readOnly })).onReady().catch(err => err)
      t.equal(err.code, 'flumelog:not-a-log')
      t.ok(err.message.endsWith(`: npx flumelog import ${file} NEW, with the package flumelog-convert`), err.message)
    }
  }
})
