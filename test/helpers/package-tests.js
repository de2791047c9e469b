'use strict'

// What holds for each package in packages/: packed, and installed into an empty project beside the core, it works as its README says. It requires
// of the core what is public, and nothing else that is not among its dependencies.

const fs = require('fs')
const path = require('path')
const { spawnSync } = require('child_process')
const { isBuiltin } = require('module')
const tape = require('tape')
const { compileWith5, compileWith7 } = require('./compiling')
const { processFolder } = require('./folder')
const { ROOT, name: core, packed, packedPackage, install, installPackage, manifestOf, link } = require('./installed')

const { exports: entries } = require('../../package.json')

/**
 * @typedef {object} Options
 * @property {boolean} [examples] false: another test runs those of the README
 * @property {(t: import('tape').Test, project: string) => void | Promise<void>} [use] uses the installed package by its command
 */

/**
 * @param {string} directory in packages/
 * @param {Options} options
 */
function testPackage (directory, { examples = true, use }) {
  const home = path.join(ROOT, 'packages', directory)
  const { name, bin = {}, dependencies = {}, peerDependencies = {}, engines, license } = manifestOf(directory)
  const sources = ['index.js', 'command.js', ...filesIn(home, 'lib'), ...filesIn(home, 'bin')].filter(file => file.endsWith('.js') && fs.existsSync(path.join(home, file)))
  const readme = fs.readFileSync(path.join(home, 'README.md'), 'utf8')

  tape(`${name} requires the public entries of the core, and exactly its dependencies`, (t) => {
    const required = new Set()
    const outside = []
    for (const file of sources) {
      const text = fs.readFileSync(path.join(home, file), 'utf8')
      // types are required by `import`, in comments
      for (const [, how, module] of text.matchAll(/(require|require\.resolve|import)\('([^']+)'\)/g)) {
        if (module.startsWith('.')) {
          if (!path.join(home, file, '..', module).startsWith(home)) outside.push(`${file}: ${module}`)
        } else if ((module === core || module.startsWith(`${core}/`)) && !(`.${module.slice(core.length)}` in entries)) outside.push(`${file}: ${module}`)
        if (how !== 'import' && !module.startsWith('.') && !isBuiltin(module)) required.add(module.split('/').slice(0, module.startsWith('@') ? 2 : 1).join('/'))
      }
    }
    t.deepEqual(outside, [], 'nothing else of the repository')
    t.deepEqual([...required].sort(), Object.keys({ ...dependencies, ...peerDependencies }).sort())
    t.ok(core in peerDependencies, 'the core is a peer: there is one of it')
    t.deepEqual([engines, license], [require('../../package.json').engines, require('../../package.json').license])
    t.end()
  })

  if (process.versions.bun !== undefined || process.versions.deno !== undefined) return

  const project = path.join(processFolder(), 'project')
  const installed = path.join(project, 'node_modules', name)

  tape(`${name}, packed and installed beside the core, has what users need and nothing else`, (t) => {
    install(packed().tarball, project)
    installPackage(directory, project)
    const { files } = packedPackage(directory)
    const names = files.map(file => file.path)
    const isWanted = (/** @type {string} */ file) => /^((index|command)\.js|(lib|bin|examples|dist)\/.*\.m?js|page\/.*|types\/.*\.d\.ts|package\.json|[a-z]+\.md|(README|CHANGELOG)\.md)$/.test(file)
    t.deepEqual(names.filter(file => !isWanted(file)), [])
    t.deepEqual([...sources, 'README.md', 'CHANGELOG.md', 'types/index.d.ts'].filter(file => !names.includes(file)), [])
    t.end()
  })

  for (const { code, line } of examples ? examplesIn(readme) : []) {
    tape(`the example at README.md:${line} of ${name} runs as it stands in that project`, (t) => {
      const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', code], { cwd: fs.mkdtempSync(path.join(project, 'example-')), encoding: 'utf8' })
      t.equal(status, 0, stderr || 'it exits with code 0')
      const said = [...code.matchAll(/console\.log\(.* \/\/ (.*)$/gm)].flatMap(match => match[1].split(' / '))
      t.ok(said.length > 0, 'its comments say what it prints')
      t.deepEqual(stdout.split('\n').slice(0, -1), said)
      t.end()
    })
  }

  for (const command of Object.keys(bin)) {
    tape(`npx ${command} --help explains it`, (t) => {
      const { status, stdout, stderr } = spawnSync('npx', ['--no-install', command, '--help'], { cwd: project, encoding: 'utf8' })
      t.equal(status, 0, stderr)
      t.ok(stdout.startsWith(`Usage: ${command} `), stdout.split('\n')[0])
      t.end()
    })
  }

  if (use !== undefined) tape(`${name} does what its README says`, (t) => use(t, project))

  tape(`programs compile with the types of ${name}, but for the lines that say they do not`, (t) => {
    fs.cpSync(path.join(home, 'test', 'types'), project, { recursive: true })
    fs.copyFileSync(path.join(ROOT, 'test', 'types', 'tsconfig.json'), path.join(project, 'tsconfig.json'))
    link('@types/node', project)
    t.equal(compileWith5(project, { module: 'node16', moduleResolution: 'node16', skipLibCheck: false }).problems, '', 'TypeScript 5.9')
    t.equal(compileWith7(project, { module: 'nodenext', moduleResolution: 'nodenext', skipLibCheck: false }).problems, '', 'TypeScript 7')
    t.match(fs.readFileSync(path.join(installed, 'types', 'index.d.ts'), 'utf8'), /^\/\/\/ <reference types="node"/, 'they load those of Node.js')
    t.end()
  })
}

/**
 * @param {string} home
 * @param {string} folder
 * @returns {string[]} paths from `home`
 */
function filesIn (home, folder) {
  if (!fs.existsSync(path.join(home, folder))) return []
  return fs.readdirSync(path.join(home, folder), { recursive: true, encoding: 'utf8' }).map(file => path.join(folder, file))
}

/** @param {string} page Markdown */
function examplesIn (page) {
  return [...page.matchAll(/^```js\n([^]*?)^```$/gm)].map(({ 1: code, index }) => ({ code, line: page.slice(0, index).split('\n').length }))
}

module.exports = { testPackage }
