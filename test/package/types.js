'use strict'

// The TypeScript declarations, generated as for the package, and tested with programs that
// use every member in valid and invalid ways.

const fs = require('fs')
const path = require('path')
const { spawnSync } = require('child_process')
const tape = require('tape')
const RAM = require('random-access-memory')
const FlumeLog = require('../..')
const { FlumeLog: PromiseLog } = require('../../promises')
const { RecordIterator } = require('../../lib/wrappers/iterator')
const { PushSource } = require('../../lib/wrappers/push-source')
const { testFolder } = require('../helpers/folder')
const { promises } = require('../helpers/promises')

const ROOT = path.join(__dirname, '..', '..')
const PROGRAMS = path.join(__dirname, '..', 'types')
const { name, scripts } = require('../../package.json')
const program = (file) => fs.readFileSync(path.join(PROGRAMS, file), 'utf8')

tape('programs that use the log correctly compile, incorrect ones do not', (t) => {
  const folder = testFolder(t)
  const module = (file) => folder(path.join('node_modules', file))
  fs.mkdirSync(module('@types'), { recursive: true })
  for (const needed of ['@types/node', 'undici-types', 'lru-cache']) fs.symlinkSync(path.join(ROOT, 'node_modules', needed), module(needed))
  fs.mkdirSync(module(name))
  fs.copyFileSync(path.join(ROOT, 'package.json'), module(`${name}/package.json`))
  const [command, ...args] = scripts.build.split(' ')
  t.equal(command, 'tsc')
  // the code itself is checked by `npm run types`
  t.deepEqual(tsc([...args, '--outDir', module(`${name}/types`), '--noCheck'], ROOT), { code: 0, output: '' }, 'the declarations are made')

  fs.cpSync(PROGRAMS, folder('.'), { recursive: true })
  fs.writeFileSync(folder('page.mts'), /^```ts\n(.*?)^```/ms.exec(fs.readFileSync(path.join(ROOT, 'docs', 'modern.md'), 'utf8'))[1])
  t.deepEqual(tsc(['-p', '.'], folder('.')), { code: 0, output: '' }, 'the programs compile, and what docs/modern.md shows, but for the lines that say they do not')
  t.end()
})

tape('the programs use every member of the log, and of its wrappers', async (t) => {
  const log = FlumeLog(new RAM())
  await promises(log).close()
  const unused = (text, names) => names.filter(name => !new RegExp(`\\.${name}\\b`).test(text))
  t.deepEqual(unused(program('log.cts'), Object.keys(log)), [], 'the log')
  t.deepEqual(unused(program('promises.mts'), methodsOf(PromiseLog)), [], 'with promises')
  t.deepEqual(unused(program('promises.mts'), ['next', 'return', 'throw']), [], 'the iterator')
  t.ok(['next', 'return', 'throw'].every(name => methodsOf(RecordIterator).includes(name)))
  t.deepEqual(unused(program('push.cts'), ['pipe', 'resume', 'abort']), [], 'the push-stream')
  t.ok(['pipe', 'resume', 'abort'].every(name => methodsOf(PushSource).includes(name)))
  const settings = Object.keys(require('../../lib/options').settingsOf({}))
  t.deepEqual(settings.filter(name => !new RegExp(`\\b${name}\\b`).test(program('log.cts'))), [], 'every option')
})

function methodsOf (type) {
  return Object.getOwnPropertyNames(type.prototype).filter(name => name !== 'constructor')
}

function tsc (args, folder) {
  const { status, stdout } = spawnSync(process.execPath, [path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), ...args], { cwd: folder, encoding: 'utf8' })
  return { code: status, output: stdout }
}
