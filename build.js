'use strict'

// Makes types/**/*.d.ts from the JSDoc of the code, for a release: of the entries and of what these refer to, which is not all
// of the code. Options are those of tsc. And puts the libraries of the viewer's page beside it, with their licences.

const { spawnSync } = require('child_process')
const fs = require('fs')
const path = require('path')
const { exports: exported } = require('./package.json')
const { PAGE, VENDOR } = require('./lib/view/assets')

const TYPES = path.join(__dirname, 'types')
const BY_HAND = 'vendor.d.ts'
const OVERLOADS = 'overloads.d.ts'
// by its path: TypeScript 7, which the tests use too, has a command of the same name
const TSC = path.join(path.dirname(require.resolve('typescript/package.json')), 'bin', 'tsc')

for (const file of fs.readdirSync(TYPES)) {
  if (file !== BY_HAND) fs.rmSync(path.join(TYPES, file), { recursive: true })
}
const { status } = spawnSync(process.execPath, [TSC, '--project', path.join(__dirname, 'tsconfig.build.json'), ...process.argv.slice(2)], { stdio: 'inherit' })
process.exitCode = status ?? 1
// by hand; the compiler does not copy declarations
fs.copyFileSync(path.join(__dirname, 'lib', OVERLOADS), path.join(TYPES, 'lib', OVERLOADS))

const entries = Object.values(exported).flatMap(({ types }) => types === undefined ? [] : [path.join(__dirname, types)])
/** Paths of the entries' declarations, and of those that they refer to, directly or not; it grows while it is iterated. */
const reached = new Set(entries)
for (const file of reached) {
  const text = fs.readFileSync(file, 'utf8')
  // `Buffer` has a type parameter in recent @types/node only: with older ones, `Buffer<…>` would be `any`
  fs.writeFileSync(file, text.replace(/<ArrayBuffer(Like)?>/g, ''))
  for (const [, name] of text.matchAll(/\b(?:import\(|from )['"](\..*?)['"]/g)) reached.add(path.join(path.dirname(file), `${name}.d.ts`))
}

for (const name of fs.readdirSync(TYPES, { recursive: true, encoding: 'utf8' })) {
  const file = path.join(TYPES, name)
  if (name.endsWith('.d.ts') && name !== BY_HAND && !reached.has(file)) fs.rmSync(file)
}

const vendored = path.join(PAGE, 'vendor')
fs.rmSync(vendored, { recursive: true, force: true })
fs.mkdirSync(vendored)
for (const [name, file] of Object.entries(VENDOR)) fs.copyFileSync(path.join(__dirname, 'node_modules', file), path.join(vendored, name))
// the first has the second in it
const licences = ['htm', 'preact', 'uplot'].map(name => `${name}\n\n${fs.readFileSync(path.join(__dirname, 'node_modules', name, 'LICENSE'), 'utf8').trim()}\n`)
fs.writeFileSync(path.join(vendored, 'LICENSES.txt'), licences.join(`\n${'-'.repeat(80)}\n\n`))
