'use strict'

// Describes the machine and the versions that figures were measured with.

const os = require('os')
const peers = require('../peers')
const shared = require('../shared')

/** Packages that are measured with the log, not beside it. */
const OTHERS = ['flumedb', 'bipf', 'jitdb', 'ssb-db2']

/** @returns {{ date: string, machine: string, system: string, versions: Record<string, string> }} */
function environment () {
  const [{ model }] = os.cpus()
  const versions = { node: process.version.slice(1), [require('../../package.json').name]: require('../../package.json').version }
  const packages = [...peers, ...Object.values(shared)].map(({ package: name }) => name)
  for (const name of [...packages, ...OTHERS]) {
    if (name !== undefined) versions[name] = versionOf(name)
  }
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: `${os.availableParallelism()} cores of ${model}, ${Math.round(os.totalmem() / 2 ** 30)} GiB of memory`,
    system: `${os.type()} ${os.release()} ${os.arch()}`,
    versions
  }
}

/** @param {string} name of a package */
function versionOf (name) {
  for (const folder of module.paths) {
    try {
      // not require('NAME/package.json'): `exports` of a package may hide it
      return JSON.parse(require('fs').readFileSync(`${folder}/${name}/package.json`, 'utf8')).version
    } catch {}
  }
  return 'not installed'
}

module.exports = { environment }
