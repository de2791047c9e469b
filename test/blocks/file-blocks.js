'use strict'

// The blocks of a file that is not open as a log.

const fs = require('fs')
const tape = require('tape')
const { openBlocks, recordsOf } = require('../../blocks')
const { testFolder } = require('../helpers/folder')
const { makeLog, overwrite } = require('../helpers/logs')
const { codeOf } = require('../helpers/reading')
const { open } = require('../../promises')

async function filled (file) {
  const log = await open(file, { blockSize: 256 })
  for (let i = 0; i < 40; i++) await log.append(`record number ${i}`)
  await log.close()
}

async function scanned (blocks) {
  const all = []
  for await (const batch of blocks.scan()) all.push(...batch)
  return all
}

tape('a scan gives every block of the file, a corrupt one with its error', async (t) => {
  const file = testFolder(t)('log')
  await filled(file)
  overwrite(file, 300, 'damage')
  const blocks = await openBlocks(file)
  const all = await scanned(blocks)
  t.deepEqual([blocks.blockSize, blocks.start, blocks.end], [256, 0, fs.statSync(file).size])
  t.deepEqual(all.filter(({ error }) => error !== null).map(({ number, error }) => [number, error.code]), [[1, 'flumelog:corrupt']])
  t.equal(all.flatMap(block => [...recordsOf(block)]).length, 40 - all[0].buffer.toString('latin1').match(/record number/g).length, 'the others with their records')
  t.equal(await blocks.torn(), null)
  await blocks.close()
})

tape('bytes after the end are reported', async (t) => {
  const file = testFolder(t)('log')
  await filled(file)
  const { size } = fs.statSync(file)
  fs.appendFileSync(file, 'torn')
  const blocks = await openBlocks(file)
  t.deepEqual({ ...await blocks.torn(), reason: undefined }, { offset: size, size: 4, start: Buffer.from('torn'), reason: undefined })
  await blocks.close()
})

tape('what is no log, and what is not there, is an error', async (t) => {
  const name = testFolder(t)
  fs.writeFileSync(name('text'), 'this is the text of some letter. '.repeat(99))
  t.equal(await codeOf(openBlocks(name('text'))), 'flumelog:not-a-log')
  t.equal(await codeOf(openBlocks(name('missing'))), 'ENOENT')
  t.equal(await codeOf(openBlocks('')), 'flumelog:invalid')
  await makeLog(name('log'), ['a'])
  await (await openBlocks(name('log'))).close()
})
