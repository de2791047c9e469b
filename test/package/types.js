'use strict'

// The types of the packed package, as programs in TypeScript see them. Those in test/types use
// every member of the log, and of its wrappers, in valid and invalid ways.

const fs = require('fs')
const path = require('path')
const { execFileSync } = require('child_process')
const tape = require('tape')
const FlumeLog = require('../..')
const { FlumeLog: PromiseLog } = require('../../promises')
const { compileWith5, compileWith7 } = require('../helpers/compiling')
const { newFile, processFolder } = require('../helpers/folder')
const { ROOT, name, packed } = require('../helpers/installed')
const { promises } = require('../helpers/promises')
const { thorough } = require('../helpers/thorough')

const PROGRAMS = path.join(ROOT, 'test', 'types')
const { exports: entries, dependencies } = require('../../package.json')

const NODE16 = { module: 'node16', moduleResolution: 'node16' }
const NODENEXT = { module: 'nodenext', moduleResolution: 'nodenext' }
const BUNDLER = { module: 'preserve', moduleResolution: 'bundler' }

const folder = processFolder()
const project = path.join(folder, 'project')
const installed = path.join(project, 'node_modules', name)
const { tarball } = packed()
install()
/** The declarations of each entry point. */
const declarations = Object.fromEntries(Object.entries(entries).filter(([, entry]) => entry.types)
  .map(([entry, { types }]) => [entry, path.join(installed, types)]))

const checked = compileWith5(project, { ...NODE16, skipLibCheck: false })

tape('programs compile with TypeScript 5.9, but for the lines that say they do not', (t) => {
  t.equal(checked.problems, '', 'node16, with the declarations checked')
  if (thorough) {
    t.equal(compileWith5(project, { ...NODENEXT, skipLibCheck: true }).problems, '', 'nodenext')
    t.equal(compileWith5(project, { ...BUNDLER, skipLibCheck: true }).problems, '', 'for a bundler')
  }
  t.end()
})

tape('programs compile with TypeScript 7, but for the lines that say they do not', (t) => {
  // with `skipLibCheck` less is checked, and nothing else
  for (const options of thorough ? [NODE16, NODENEXT, BUNDLER] : [NODENEXT]) t.equal(compileWith7(project, { ...options, skipLibCheck: false }).problems, '', options.moduleResolution)
  t.end()
})

tape('each entry point loads the types of Node.js, whichever version', (t) => {
  for (const [entry, file] of Object.entries(declarations)) {
    t.match(fs.readFileSync(file, 'utf8'), /^\/\/\/ <reference types="node"/, `${entry} asks for them`)
  }
  const files = fs.readdirSync(path.join(installed, 'types'), { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.d.ts'))
  const generic = files.filter(file => /<ArrayBuffer(Like)?>/.test(fs.readFileSync(path.join(installed, 'types', file), 'utf8')))
  t.deepEqual(generic, [], 'a Buffer has no type parameter, which it does not have in older versions')
  t.end()
})

tape('each entry point exports the types of errors', (t) => {
  const checker = checked.program.getTypeChecker()
  for (const [entry, file] of Object.entries(declarations)) {
    const types = checker.getExportsOfModule(checker.getSymbolAtLocation(checked.program.getSourceFile(file))).map(({ name }) => name)
    t.deepEqual(['LogError', 'SystemError', 'ErrorCode'].filter(name => !types.includes(name)), [], entry)
  }
  t.end()
})

tape('what the types say that callbacks are given, they are given', async (t) => {
  const log = FlumeLog(newFile())
  const call = (method, ...args) => new Promise(resolve => log[method](...args, (...given) => resolve(given)))
  t.deepEqual(await call('onReady'), [null, null], 'onReady')
  const [err, seq] = await call('append', 'a')
  t.deepEqual([err, seq], [null, 0], 'append')
  const [, [next]] = await call('append', ['b'], { atomic: true })
  t.equal(typeof next, 'number', 'append with atomic')
  t.deepEqual(await call('get', seq), [null, Buffer.from('a')], 'get')
  t.deepEqual(await call('getPrevious', next), [null, Buffer.from('a'), seq], 'getPrevious')
  t.deepEqual(await call('search', () => 0), [null, seq, Buffer.from('a')], 'search')
  const always = FlumeLog(newFile(), { sync: 'always' })
  await new Promise(resolve => always.append('a', resolve))
  t.deepEqual(await new Promise(resolve => always.del(0, (...given) => resolve(given))), [null], 'del of a log that is always synced')
  for (const [method, ...args] of [['scan', {}, () => {}], ['del', 0], ['del', []], ['onDrain'], ['sync'], ['close'], ['close']]) {
    const given = await call(method, ...args)
    t.deepEqual([given.length, given[0]], [1, null], method)
  }
})

tape('publint finds nothing in the package', async (t) => {
  const { publint } = await import('publint')
  const { messages } = await publint({ pkgDir: installed, pack: false, strict: true })
  t.deepEqual(messages, [])
})

tape('Are The Types Wrong? finds nothing in the package', async (t) => {
  const { checkPackage, createPackageFromTarballData } = await import('@arethetypeswrong/core')
  const { types, problems } = await checkPackage(createPackageFromTarballData(new Uint8Array(fs.readFileSync(tarball))))
  t.deepEqual(types, { kind: 'included' })
  // what commands in packages share has no types
  t.deepEqual(problems.filter(({ entrypoint }) => entrypoint !== './command'), [])
})

tape('the programs use every member of the log, and of its wrappers', async (t) => {
  const log = FlumeLog(newFile())
  await promises(log).close()
  const program = (file) => fs.readFileSync(path.join(PROGRAMS, file), 'utf8')
  const unused = (text, names) => names.filter(name => !new RegExp(`\\.${name}\\b`).test(text))
  t.deepEqual(unused(program('log.cts'), Object.keys(log)), [], 'the log')
  const methods = Object.getOwnPropertyNames(PromiseLog.prototype).filter(name => name !== 'constructor')
  t.deepEqual(unused(program('promises.mts'), methods), [], 'with promises')
  t.deepEqual(unused(program('promises.mts'), ['next', 'return', 'throw']), [], 'the iterator')
  const settings = Object.keys(require('../../lib/options').settingsOf({}))
  t.deepEqual(settings.filter(name => !new RegExp(`\\b${name}\\b`).test(program('log.cts'))), [], 'every option')
})

/** Makes a project in which the package is installed, with the programs of test/types and that of docs/api.md. */
function install () {
  fs.mkdirSync(installed, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'])
  fs.mkdirSync(path.join(project, 'node_modules', '@types'))
  for (const module of [...Object.keys(dependencies), '@types/node', 'undici-types']) {
    fs.symlinkSync(path.join(ROOT, 'node_modules', module), path.join(project, 'node_modules', module), 'junction')
  }
  fs.cpSync(PROGRAMS, project, { recursive: true })
  fs.writeFileSync(path.join(project, 'page.mts'), /^```ts\n(.*?)^```/ms.exec(fs.readFileSync(path.join(ROOT, 'docs', 'api.md'), 'utf8'))[1])
}
