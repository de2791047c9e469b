'use strict'

// The packed package: it contains what users need and nothing else, and works when
// installed, from JavaScript and the command line; from TypeScript: see types.js.

const fs = require('fs')
const path = require('path')
const { spawnSync } = require('child_process')
const { isBuiltin } = require('module')
const tape = require('tape')
const { testFolder } = require('../helpers/folder')
const { ROOT, name, packed, install } = require('../helpers/installed')

const { main, exports: faces = {}, dependencies, optionalDependencies, peerDependencies } = require('../../package.json')
/** The entry points. */
const entries = [...new Set([main, ...JSON.stringify(faces).match(/(?<=\.\/)[\w-]+\.js(?=")/g) ?? []])]

tape('the package contains what users need, and works when installed', (t) => {
  const folder = testFolder(t)
  const project = (file) => path.join(folder('project'), file)
  const { files, tarball, size, unpackedSize } = packed()

  const names = files.map(file => file.path)
  const code = ['core.js', 'cli.js', 'flumelog.js', ...entries].map(file => `dist/${file}`)
  const isWanted = (file) => code.includes(file) || /^(types\/.*\.d\.ts|package\.json|LICENSE|README\.md)$/.test(file)
  t.deepEqual(names.filter(file => !isWanted(file)), [], 'it has nothing else')
  for (const file of [...code, 'README.md', 'LICENSE', 'types/index.d.ts']) {
    t.ok(names.includes(file), `it has ${file}`)
  }
  t.deepEqual(names.filter(file => /^types\/(vendor|lib\/(write|sharing)\/)/.test(file)), [], 'it has no declarations of what callers do not see')
  t.ok(size < 250 * 1024 && unpackedSize < 1_000_000 && names.length < 200, `${size} bytes packed, ${unpackedSize} in ${names.length} files`)

  install(tarball, folder('project'))
  t.deepEqual(node(project, APPEND_AND_GET), { code: 0, output: 'stored\n' }, 'it can be required, and stores')
  const { output } = node(project, `require('${name}'); console.log(Object.keys(require('module')._cache).length)`)
  t.ok(Number(output) > 0 && Number(output) < 80, `\`require\` of it loads ${output.trim()} files`)
  const missing = spawnSync('npx', ['--no-install', 'flumelog', 'view', 'log', '--no-open'], { cwd: folder('project'), encoding: 'utf8', env: { ...process.env, npm_config_loglevel: 'error' } })
  t.deepEqual([missing.status, missing.stdout, missing.stderr], [2, '', 'flumelog: `flumelog view` is in the package flumelog-view, which is not installed here\n'], 'a command in another package says so')
  const help = spawnSync('npx', ['--no-install', 'flumelog', '--help'], { cwd: folder('project'), encoding: 'utf8' })
  t.ok(help.stdout.startsWith('Usage: flumelog'), '`npx flumelog --help` works')
  t.match(help.stdout, /\(in\s+the\s+package\s+flumelog-convert\)/, 'and names what is missing')
  t.doesNotMatch(help.stdout, /flumelog view my\.log/, 'of which it gives no example')
  t.end()
})

tape('the package requires exactly its dependencies', (t) => {
  const files = [...entries, ...['lib', 'bin'].flatMap(folder => sources(folder).map(file => path.join(folder, file)))]
  const required = new Set()
  for (const file of files) {
    const text = fs.readFileSync(path.join(ROOT, file), 'utf8')
    for (const [, module] of text.matchAll(/(?:require|createRequire\(__filename\))\('([^.'][^':]*)'\)/g)) if (!isBuiltin(module)) required.add(module)
  }
  t.deepEqual([...required].sort(), Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }).filter(name => !name.startsWith('@types/')).sort())
  t.end()
})

tape('what is installed with the package takes less than 4 MB', (t) => {
  const { packages } = require('../../package-lock.json')
  const needed = new Set(Object.keys({ ...dependencies, ...optionalDependencies }))
  for (const name of needed) {
    const { dependencies, optionalDependencies } = packages[`node_modules/${name}`] ?? {}
    for (const other of Object.keys({ ...dependencies, ...optionalDependencies })) needed.add(other)
  }
  const modules = [...needed].map(name => path.join(ROOT, 'node_modules', name))
  // of what is native, only the part for this platform is installed
  const sizes = modules.filter(module => fs.existsSync(module)).map(module => ({ size: sizeOf(module), module: path.relative(ROOT, module) }))
  const total = sizes.reduce((sum, { size }) => sum + size, 0)
  t.ok(total < 4e6, `${total} bytes; the largest are ${sizes.sort((a, b) => b.size - a.size).slice(0, 3).map(({ module, size }) => `${module}: ${size}`).join(', ')}`)
  t.end()
})

const APPEND_AND_GET = `
  const log = require('${name}')('log')
  log.append(Buffer.from('stored'), (err, seq) => log.get(seq, (_, value) => {
    console.log(String(value))
    log.close()
  }))`

/** Bytes of all files in a directory. */
function sizeOf (folder) {
  return fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(file => fs.lstatSync(path.join(folder, file)))
    .reduce((sum, status) => sum + (status.isFile() ? status.size : 0), 0)
}

/** The JavaScript files in a directory of the checkout. */
function sources (folder) {
  return fs.readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.js'))
}

function node (project, program) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', program], { cwd: project('.'), encoding: 'utf8' })
  return { code: status, output: stdout + stderr }
}
