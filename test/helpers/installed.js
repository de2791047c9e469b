'use strict'

// Packs the package, and installs it into a project as npm would, without a registry:
// its dependencies, and the other packages of the project, are links to those of the checkout.

const fs = require('fs')
const path = require('path')
const { execFileSync, spawnSync } = require('child_process')

const ROOT = path.join(__dirname, '..', '..')
const { name, version, bin, dependencies, optionalDependencies } = require('../../package.json')

/**
 * @typedef {{ filename: string, size: number, unpackedSize: number, files: Array<{ path: string }> }} Packed sizes in bytes
 */

/**
 * @param {string} checkout
 * @param {string[]} options of `npm pack`
 * @returns {Packed}
 */
function pack (checkout, options) {
  const { status, stdout, stderr } = spawnSync('npm', ['pack', '--json', '--silent', ...options], { cwd: checkout, encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm pack ended with code ${status}: ${stdout}${stderr}`)
  return JSON.parse(stdout)[0]
}

/**
 * Packs the checkout as it is, without building declarations.
 * @param {string} folder for the tarball
 * @returns {Packed}
 */
const packAsIs = (folder) => pack(ROOT, ['--ignore-scripts', '--pack-destination', folder])

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
  for (const [command, file] of Object.entries(bin)) {
    fs.chmodSync(path.join(target, file), 0o755)
    fs.symlinkSync(path.join('..', name, file), path.join(commands, command))
  }
  fs.writeFileSync(path.join(project, 'package.json'), JSON.stringify({ name: 'project', private: true, dependencies: { [name]: version } }))
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

module.exports = { ROOT, name, pack, packAsIs, install }
