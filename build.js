'use strict'

// Makes types/**/*.d.ts from the JSDoc of the code, for a release: of the entries and of what these refer to, which is not all
// of the code; comments only of object types, and of the entries and what these name. Options are those of tsc. Works on the package in the current directory; those that it refers to are built first.

const { spawnSync } = require('child_process')
const fs = require('fs')
const path = require('path')

const ROOT = process.cwd()
const { exports: exported, dependencies, peerDependencies } = JSON.parse(fs.readFileSync('package.json', 'utf8'))
const TYPES = path.join(ROOT, 'types')
const BY_HAND = 'vendor.d.ts'
const OVERLOADS = path.join('lib', 'overloads.d.ts')
// by its path: TypeScript 7, which the tests use too, has a command of the same name
const TSC = path.join(path.dirname(require.resolve('typescript/package.json')), 'bin', 'tsc')

for (const name of Object.keys({ ...dependencies, ...peerDependencies }).filter(name => name.startsWith('flumelog-'))) {
  const folder = path.dirname(require.resolve(`${name}/package.json`, { paths: [ROOT] }))
  if (!fs.existsSync(path.join(folder, 'types', 'index.d.ts'))) run(__filename, folder)
}

fs.mkdirSync(TYPES, { recursive: true })
for (const file of fs.readdirSync(TYPES)) {
  if (file !== BY_HAND) fs.rmSync(path.join(TYPES, file), { recursive: true })
}
run(TSC, ROOT, ['--project', 'tsconfig.build.json', ...process.argv.slice(2)])
// by hand; the compiler does not copy declarations
if (fs.existsSync(OVERLOADS)) fs.copyFileSync(OVERLOADS, path.join(TYPES, OVERLOADS))

const entries = Object.values(exported).flatMap(({ types }) => types === undefined ? [] : [path.join(ROOT, types)])
/** Paths of the entries' declarations, and of those that they refer to, directly or not; it grows while it is iterated. */
const reached = new Set(entries)
for (const file of reached) {
  const text = fs.readFileSync(file, 'utf8')
  // `Buffer` has a type parameter in recent @types/node only: with older ones, `Buffer<…>` would be `any`
  const declarations = text.replace(/<ArrayBuffer(Like)?>/g, '')
    // for a type of the core, the compiler writes the file that declares it, in place of the entry that exports it
    .replace(/import\("(\.[^"]*)"\)/g, (whole, name) => path.join(path.dirname(file), name).startsWith(TYPES) ? whole : 'import("flumelog-random-access-file")')
  fs.writeFileSync(file, declarations)
  for (const other of referredTo(file)) reached.add(other)
}

// what the entries name is what users see
const shown = new Set(entries.flatMap(file => [file, ...referredTo(file)]))
for (const file of reached) {
  const text = fs.readFileSync(file, 'utf8')
  // what typedefs say is in the declarations of the types, too
  const isDeclared = (/** @type {string} */ comment) => /@(typedef|callback)\b|^ *\/\*\* @type \{.*\} \*\/$/m.test(comment)
  // an object type, which options may refer to, or a comment
  fs.writeFileSync(file, text.replace(/^export type [^\n]*\{\n[\s\S]*?^\};\n|^ *\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n/gm, (part) => (
    part.startsWith('export') || (shown.has(file) && !isDeclared(part)) ? part : ''
  )))
}

for (const name of fs.readdirSync(TYPES, { recursive: true, encoding: 'utf8' })) {
  const file = path.join(TYPES, name)
  if (name.endsWith('.d.ts') && name !== BY_HAND && !reached.has(file)) fs.rmSync(file)
}

/** @param {string} file of declarations */
function referredTo (file) {
  const names = fs.readFileSync(file, 'utf8').matchAll(/\b(?:import\(|from |require\()['"](\..*?)['"]/g)
  return [...names].map(([, name]) => path.join(path.dirname(file), `${name}.d.ts`))
}

/**
 * @param {string} program
 * @param {string} folder
 * @param {string[]} [args]
 */
function run (program, folder, args = []) {
  const { status } = spawnSync(process.execPath, [program, ...args], { cwd: folder, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
