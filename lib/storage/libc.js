'use strict'

// Functions of libc, for Bun and Deno, which cannot use native parts made for Node.js.

const { createRequire } = require('module')

/** Where libc is; on Linux, that of glibc or musl. @type {Record<string, string[]>} */
const LIBRARIES = {
  'linux x64': ['libc.so.6', 'libc.musl-x86_64.so.1'],
  'linux arm64': ['libc.so.6', 'libc.musl-aarch64.so.1'],
  'darwin x64': ['/usr/lib/libSystem.B.dylib'],
  'darwin arm64': ['/usr/lib/libSystem.B.dylib']
}

/** @typedef {'i32' | 'i64' | 'buffer'} Parameter */

/**
 * @param {string} name of a function that returns an int
 * @param {Parameter[]} parameters
 * @returns {(...args: any[]) => number} Throws if libc cannot be called here. The message says why not, and what to do
 */
function libcFunction (name, parameters) {
  const libraries = LIBRARIES[`${process.platform} ${process.arch}`]
  if (libraries === undefined) throw new Error(`libc is not known for ${process.platform} on ${process.arch}`)
  let missing
  for (const library of libraries) {
    try {
      return process.versions.bun === undefined ? denoFunction(library, name, parameters) : bunFunction(library, name, parameters)
    } catch (err) {
      missing = err
    }
  }
  throw missing
}

/** @type {(library: string, name: string, parameters: Parameter[]) => (...args: any[]) => number} */
function bunFunction (library, name, parameters) {
  // not `require`: bundlers would look for the module
  const { dlopen } = createRequire(__filename)('bun:ffi')
  const args = parameters.map(type => type === 'buffer' ? 'ptr' : type)
  return dlopen(library, { [name]: { args, returns: 'i32' } }).symbols[name]
}

/** @type {(library: string, name: string, parameters: Parameter[]) => (...args: any[]) => number} */
function denoFunction (library, name, parameters) {
  const Deno = /** @type {any} */ (globalThis).Deno
  if (Deno === undefined) throw new Error('the global Deno is missing in this vm context')
  const [major, minor] = Deno.version.deno.split('.').map(Number)
  // older ones number files themselves: to libc, the number would be another file
  if (major < 2 || (major === 2 && minor < 7)) throw new Error('Deno 2.7 or newer is needed')
  // if it is not granted yet, dlopen would ask on the terminal
  if (Deno.permissions.querySync({ name: 'ffi', path: library }).state !== 'granted') throw new Error('Deno needs --allow-ffi')
  return Deno.dlopen(library, { [name]: { parameters, result: 'i32' } }).symbols[name]
}

module.exports = { libcFunction }
