'use strict'

// Packs the package, and installs it into a project as npm would, without a registry:
// its dependencies, and the other packages of the project, are links to those of the checkout.

const fs = require('fs')
const path = require('path')
const { execFileSync, spawnSync } = require('child_process')
const { madeOnce } = require('./folder')

const ROOT = path.join(__dirname, '..', '..')
const { name, version, dependencies, optionalDependencies } = require('../../package.json')

/**
 * @typedef {{ filename: string, size: number, unpackedSize: number, files: Array<{ path: string }> }} Packed sizes in bytes
 */

/**
 * The package as it is released, of a copy of the checkout, since packing creates files. Its declarations are not checked by the
 * way: the types of the code are by test/package/style.js.
 * @returns {Packed & { tarball: string }}
 */
function packed () {
  const folder = madeOnce('package', (folder) => {
    const checkout = copyCheckout(folder)
    pack(checkout, folder)
    if (!fs.readFileSync(path.join(checkout, 'package.json')).equals(fs.readFileSync(path.join(ROOT, 'package.json')))) throw new Error('npm pack has changed package.json')
    fs.rmSync(checkout, { recursive: true })
  })
  return contentsOf(folder)
}

/**
 * The same of a package in packages/.
 * @param {string} directory its name there
 * @returns {Packed & { tarball: string }}
 */
function packedPackage (directory) {
  const folder = madeOnce(`package-${directory}`, (folder) => {
    const checkout = copyCheckout(folder)
    const modules = path.join(checkout, 'packages', 'node_modules')
    fs.mkdirSync(modules)
    // those of the copy, whose declarations are built
    fs.symlinkSync(checkout, path.join(modules, name), 'junction')
    for (const other of fs.readdirSync(path.join(ROOT, 'packages'))) fs.symlinkSync(path.join(checkout, 'packages', other), path.join(modules, manifestOf(other).name), 'junction')
    pack(path.join(checkout, 'packages', directory), folder)
    fs.rmSync(checkout, { recursive: true })
  })
  return contentsOf(folder)
}

/** @param {string} directory */
const manifestOf = (directory) => JSON.parse(fs.readFileSync(path.join(ROOT, 'packages', directory, 'package.json'), 'utf8'))

/**
 * @param {string} folder
 * @returns {string} a directory in it
 */
function copyCheckout (folder) {
  const checkout = path.join(folder, 'checkout')
  fs.cpSync(ROOT, checkout, { recursive: true, filter: file => !['node_modules', '.git'].includes(path.basename(file)) })
  fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(checkout, 'node_modules'), 'junction')
  for (const directory of ['.', ...fs.readdirSync(path.join(checkout, 'packages')).map(name => path.join('packages', name))]) {
    const config = path.join(checkout, directory, 'tsconfig.build.json')
    const { compilerOptions, ...rest } = JSON.parse(fs.readFileSync(config, 'utf8'))
    fs.writeFileSync(config, JSON.stringify({ compilerOptions: { ...compilerOptions, noCheck: true }, ...rest }))
  }
  return checkout
}

/**
 * @param {string} cwd
 * @param {string} folder for the tarball
 */
function pack (cwd, folder) {
  const { status, stdout, stderr } = spawnSync('npm', ['pack', '--json', '--silent', '--pack-destination', folder], { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm pack ended with code ${status}: ${stdout}${stderr}`)
  fs.writeFileSync(path.join(folder, 'packed.json'), stdout)
}

/** @param {string} folder with a tarball */
function contentsOf (folder) {
  const [contents] = JSON.parse(fs.readFileSync(path.join(folder, 'packed.json'), 'utf8'))
  return { ...contents, tarball: path.join(folder, contents.filename) }
}

/**
 * @param {string} tarball
 * @param {string} project a directory, which is created
 * @param {string[]} modules that the project depends on, too
 */
function install (tarball, project, modules = []) {
  const target = path.join(project, 'node_modules', name)
  fs.mkdirSync(target, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1'])
  for (const module of new Set([...Object.keys({ ...dependencies, ...optionalDependencies }), ...modules])) link(module, project)
  const commands = path.join(project, 'node_modules', '.bin')
  fs.mkdirSync(commands)
  // as it was packed: not that of the checkout
  const { bin } = JSON.parse(fs.readFileSync(path.join(target, 'package.json'), 'utf8'))
  for (const [command, file] of Object.entries(bin)) {
    fs.chmodSync(path.join(target, file), 0o755)
    fs.symlinkSync(path.join('..', name, file), path.join(commands, command))
  }
  fs.writeFileSync(path.join(project, 'package.json'), JSON.stringify({ name: 'project', private: true, dependencies: { [name]: version } }))
}

/**
 * Installs a package of packages/ into a project that has the core.
 * @param {string} directory
 * @param {string} project
 */
function installPackage (directory, project) {
  const { name, bin = {}, dependencies = {} } = manifestOf(directory)
  const target = path.join(project, 'node_modules', name)
  fs.mkdirSync(target, { recursive: true })
  execFileSync('tar', ['-xzf', packedPackage(directory).tarball, '-C', target, '--strip-components=1'])
  for (const module of Object.keys(dependencies)) {
    const own = fs.readdirSync(path.join(ROOT, 'packages')).find(other => manifestOf(other).name === module)
    if (fs.existsSync(path.join(project, 'node_modules', module))) continue
    if (own !== undefined) installPackage(own, project)
    else link(module, project)
  }
  for (const [command, file] of Object.entries(bin)) {
    fs.chmodSync(path.join(target, file), 0o755)
    fs.symlinkSync(path.join('..', name, file), path.join(project, 'node_modules', '.bin', command))
  }
}

/**
 * @param {string} module
 * @param {string} project
 */
function link (module, project) {
  const file = path.join(project, 'node_modules', module)
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.symlinkSync(path.join(ROOT, 'node_modules', module), file, 'junction')
}

module.exports = { ROOT, name, packed, packedPackage, install, installPackage, manifestOf, link }
