'use strict'

// The packed package: it contains what users need and nothing else, and works when
// installed, from JavaScript, TypeScript and the command line.

const fs = require('fs')
const path = require('path')
const { execFileSync, spawnSync } = require('child_process')
const { isBuiltin } = require('module')
const tape = require('tape')
const { testFolder } = require('../helpers/folder')

const ROOT = path.join(__dirname, '..', '..')
const { name, version, main, exports: faces = {}, dependencies, optionalDependencies } = require('../../package.json')
/** The entry points. */
const entries = [...new Set([main, ...JSON.stringify(faces).match(/(?<=\.\/)[\w-]+\.js(?=")/g) ?? []])]
const BUILD = 'tsconfig.build.json'
const PROGRAMS = path.join(__dirname, '..', 'types')
const installed = (module) => path.join(ROOT, 'node_modules', module)

tape('the package contains what users need, and works when installed', (t) => {
  const folder = testFolder(t)
  const project = (file) => path.join(folder('project'), file)
  const { files, filename } = pack(folder('checkout'))

  const packed = files.map(file => file.path)
  const isWanted = (file) => entries.includes(file) || /^((lib|bin)\/.*\.js|types\/.*\.d\.ts|package\.json|LICENSE|(README|CHANGELOG|format)\.md)$/.test(file)
  t.deepEqual(packed.filter(file => !isWanted(file)), [], 'it has nothing else')
  for (const file of [...entries, 'README.md', 'CHANGELOG.md', 'LICENSE', 'format.md', 'types/index.d.ts']) {
    t.ok(packed.includes(file), `it has ${file}`)
  }
  for (const inside of ['lib', 'bin']) {
    t.deepEqual(sources(inside).filter(file => !packed.includes(`${inside}/${file}`)), [], `it has all of ${inside}`)
  }

  install(path.join(folder('checkout'), filename), project)
  t.deepEqual(node(project, APPEND_AND_GET), { code: 0, output: 'stored\n' }, 'it can be required, and stores')
  t.deepEqual(compilePrograms(project), { code: 0, output: '' }, 'programs in TypeScript compile, and what docs/modern.md shows, but for the lines that say they do not')
  const help = spawnSync('npx', ['--no-install', 'flumelog', '--help'], { cwd: folder('project'), encoding: 'utf8' })
  t.ok(help.stdout.startsWith('Usage: flumelog'), '`npx flumelog --help` works')
  t.end()
})

tape('the package requires exactly its dependencies', (t) => {
  const files = [...entries, ...['lib', 'bin'].flatMap(folder => sources(folder).map(file => path.join(folder, file)))]
  const required = new Set()
  for (const file of files) {
    const text = fs.readFileSync(path.join(ROOT, file), 'utf8')
    for (const [, module] of text.matchAll(/(?:require|createRequire\(__filename\))\('([^.'][^':]*)'\)/g)) if (!isBuiltin(module)) required.add(module)
  }
  t.deepEqual([...required].sort(), Object.keys({ ...dependencies, ...optionalDependencies }).sort())
  t.end()
})

const APPEND_AND_GET = `
  const log = require('${name}')('log')
  log.append(Buffer.from('stored'), (err, seq) => log.get(seq, (_, value) => {
    console.log(String(value))
    log.close()
  }))`

/** The JavaScript files in a directory of the checkout. */
function sources (folder) {
  return fs.readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.js'))
}

/** Packs a copy of the checkout, since packing creates files. Its declarations are made as for a release; that the types are correct is checked by test/package/style.js. */
function pack (checkout) {
  const isCopied = (file) => !['node_modules', '.git'].includes(path.relative(ROOT, file))
  fs.cpSync(ROOT, checkout, { recursive: true, filter: isCopied })
  fs.rmSync(path.join(checkout, 'types', 'lib'), { recursive: true, force: true })
  fs.rmSync(path.join(checkout, 'types', 'index.d.ts'), { force: true })
  fs.symlinkSync(installed(''), path.join(checkout, 'node_modules'))
  const config = JSON.parse(fs.readFileSync(path.join(checkout, BUILD), 'utf8'))
  config.compilerOptions.noCheck = true
  fs.writeFileSync(path.join(checkout, BUILD), JSON.stringify(config))
  const { status, stdout } = spawnSync('npm', ['pack', '--json', '--silent'], { cwd: checkout, encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm pack ended with code ${status}: ${stdout}`)
  return JSON.parse(stdout)[0]
}

/** Installs the package into a project as npm would, with its dependencies. */
function install (tarball, project) {
  fs.mkdirSync(project(`node_modules/${name}`), { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', project(`node_modules/${name}`), '--strip-components=1'])
  for (const module of [...Object.keys({ ...dependencies, ...optionalDependencies }), '@types/node', 'undici-types']) {
    fs.mkdirSync(path.dirname(project(`node_modules/${module}`)), { recursive: true })
    fs.symlinkSync(installed(module), project(`node_modules/${module}`))
  }
  fs.writeFileSync(project('package.json'), JSON.stringify({ name: 'project', private: true, dependencies: { [name]: version } }))
  // creates the links of commands
  execFileSync('npm', ['rebuild', '--offline', '--ignore-scripts', name], { cwd: project('.'), stdio: 'ignore' })
}

function node (project, program) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', program], { cwd: project('.'), encoding: 'utf8' })
  return { code: status, output: stdout + stderr }
}

/** Compiles the programs of test/types, and that of docs/modern.md, against the types of the package, and checks these, too. */
function compilePrograms (project) {
  fs.cpSync(PROGRAMS, project('.'), { recursive: true })
  fs.writeFileSync(project('page.mts'), /^```ts\n(.*?)^```/ms.exec(fs.readFileSync(path.join(ROOT, 'docs', 'modern.md'), 'utf8'))[1])
  const { status, stdout } = spawnSync(process.execPath, [path.join(installed('typescript'), 'bin', 'tsc'), '--project', '.'], { cwd: project('.'), encoding: 'utf8' })
  return { code: status, output: stdout }
}
