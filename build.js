'use strict'

// Makes types/**/*.d.ts from the JSDoc of the code, for a release. Options are those of tsc.

const { spawnSync } = require('child_process')
const fs = require('fs')
const path = require('path')

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

// `Buffer` has a type parameter in recent @types/node only: with older ones, `Buffer<…>` would be `any`
for (const file of fs.readdirSync(TYPES, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.d.ts'))) {
  const text = fs.readFileSync(path.join(TYPES, file), 'utf8')
  fs.writeFileSync(path.join(TYPES, file), text.replace(/<ArrayBuffer(Like)?>/g, ''))
}
