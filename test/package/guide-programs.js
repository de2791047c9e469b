'use strict'

// The programs of the guides, used in other ways than the guides show.

const fs = require('fs')
const path = require('path')
const { pathToFileURL } = require('url')
const tape = require('tape')
const { open } = require('../../promises')
const { ROOT, name } = require('../helpers/installed')
const { processFolder, testFolder } = require('../helpers/folder')

const programs = processFolder()
fs.mkdirSync(path.join(programs, 'node_modules'))
fs.symlinkSync(ROOT, path.join(programs, 'node_modules', name), 'junction')

tape('a write-ahead log: checkpoints that are asked for at once are written one after the other', async (t) => {
  const { openStore } = await programOf('write-ahead-log.md', 'store.mjs')
  const folder = testFolder(t)
  const store = await openStore(folder('.'))
  const settings = Array.from({ length: 20 }, async (_, i) => {
    await store.set(`key ${i}`, i)
    await store.checkpoint()
  })
  await Promise.all(settings)
  await store.close()
  t.deepEqual(JSON.parse(fs.readFileSync(folder('checkpoint.json'), 'utf8')).entries.length, 20, 'the last one has everything')
  t.notOk(fs.existsSync(folder('checkpoint.json.new')))
})

tape('a write-ahead log: a checkpoint that does not fit the log is an error', async (t) => {
  const { openStore } = await programOf('write-ahead-log.md', 'store.mjs')
  const folder = testFolder(t)
  const store = await openStore(folder('.'))
  for (let i = 0; i < 4; i++) await store.set('key', String(i).repeat(40_000))
  await store.checkpoint()
  await store.close()
  await (await openStore(folder('.'))).close()

  const checkpoint = fs.readFileSync(folder('checkpoint.json'))
  fs.rmSync(folder('checkpoint.json'))
  await rejects(openStore(folder('.')), 'without it, the log starts too late')
  fs.writeFileSync(folder('checkpoint.json'), checkpoint)
  for (const file of ['changes', 'changes.meta']) fs.rmSync(folder(file))
  await rejects(openStore(folder('.')), 'without its changes, as after a restore of the log alone, new ones would be taken for those that it has')

  async function rejects (/** @type {Promise<unknown>} */ opening, /** @type {string} */ message) {
    t.match(await opening.then(() => 'opened', err => err.message), /checkpoint\.json does not fit the log/, message)
  }
})

tape('an event store of several processes: a command that is decided on the state after the last one is stored', async (t) => {
  const { openAccounts } = await programOf('event-store.md', 'shared-accounts.mjs')
  const store = await openAccounts(testFolder(t)('log'))
  for (let version = 0; version < 3; version++) {
    await store.record('ada', store.stateOf('ada').version, [{ amount: 1 }])
    t.deepEqual(store.stateOf('ada'), { version: version + 1, balance: version + 1 })
  }
  await store.close()
})

tape('an event store of several processes: it goes on after a compaction', async (t) => {
  const { openAccounts } = await programOf('event-store.md', 'shared-accounts.mjs')
  const file = testFolder(t)('log')
  const stores = [await openAccounts(file), await openAccounts(file)]
  await stores[0].record('ada', 0, [{ amount: 1 }])
  await stores[1].record('grace', 0, [{ amount: 1 }])
  const log = await open(file, { codec: 'json', shared: true })
  await log.del(await log.append({ id: 'mary', version: 1, amount: 1 }))
  await log.compact()
  await stores[0].record('ada', 1, [{ amount: 1 }])
  await stores[1].record('grace', 1, [{ amount: 1 }])
  t.deepEqual(['ada', 'grace', 'mary'].map(id => stores[1].stateOf(id).balance), [2, 2, 0])
  for (const each of [log, ...stores]) await each.close()
})

/**
 * @param {string} guide
 * @param {string} file
 * @returns {Promise<any>} what the program exports
 */
async function programOf (guide, file) {
  const page = fs.readFileSync(path.join(ROOT, 'docs', 'guides', guide), 'utf8')
  const blocks = [...page.matchAll(/`([\w-]+\.mjs)`[^`]*:\n\n```mjs\n([^]*?)^```$/gm)]
  for (const [, file, code] of blocks) fs.writeFileSync(path.join(programs, file), code)
  return import(pathToFileURL(path.join(programs, file)).href)
}
