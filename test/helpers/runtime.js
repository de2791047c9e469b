'use strict'

// What differs between the runtimes that the tests run on.

/** @type {'node' | 'bun' | 'deno'} */
const runtime = process.versions.bun !== undefined ? 'bun' : process.versions.deno !== undefined ? 'deno' : 'node'

/**
 * Deno takes these options of Node.js only if it is told what it would be told otherwise, too.
 * @param {string[]} modules to be preloaded
 * @returns {string[]} arguments in front of the program's name
 */
function preloading (modules) {
  const options = modules.flatMap(module => ['--require', module])
  return runtime === 'deno' && modules.length > 0 ? ['run', '-A', ...options] : options
}

/**
 * `child.kill` of Deno sends one signal and no more, and takes it for the reason of the end, even if the process handles it.
 * @param {import('child_process').ChildProcess} child
 * @param {NodeJS.Signals} name
 */
function signal (child, name) {
  if (runtime !== 'deno' || name === 'SIGKILL') child.kill(name)
  else if (child.exitCode === null && child.signalCode === null) process.kill(/** @type {number} */ (child.pid), name)
}

module.exports = { runtime, isNode: runtime === 'node', preloading, signal }
