'use strict'

// Loads modules in a `vm` context, as test runners do. It has its own Array, Uint8Array,
// Error and so on, but the Buffer and the built-in modules of this one.

const fs = require('fs')
const path = require('path')
const vm = require('vm')
const Module = require('module')

/** @returns {{ context: vm.Context, load: (filename: string) => any }} */
function newRealm () {
  const context = vm.createContext({
    Buffer,
    process,
    console,
    queueMicrotask,
    setTimeout,
    clearTimeout,
    setInterval,
    clearInterval,
    setImmediate,
    clearImmediate,
    AbortController,
    AbortSignal,
    Deno: /** @type {any} */ (globalThis).Deno
  })
  /** @type {Map<string, any>} */
  const loaded = new Map()
  /** @param {string} filename */
  function load (filename) {
    if (loaded.has(filename)) return loaded.get(filename).exports
    const module = { exports: {} }
    loaded.set(filename, module)
    const requireHere = Module.createRequire(filename)
    const inRealm = (/** @type {string} */ name) => {
      const found = requireHere.resolve(name)
      return path.isAbsolute(found) && found.endsWith('.js') ? load(found) : requireHere(name)
    }
    const run = vm.runInContext(Module.wrap(fs.readFileSync(filename, 'utf8')), context, { filename })
    run(module.exports, inRealm, module, filename, path.dirname(filename))
    return module.exports
  }
  return { context, load }
}

module.exports = { newRealm }
