'use strict'

// A simulated machine for tests that call the log in one process after the other, and choose themselves what goes wrong.

const { loseUnsynced, settled, until } = require('./settled')
const { World } = require('./world')

/** @param {number} [seed] */
function machine (seed = 1) {
  const world = new World(seed)
  world.slowness = 0
  return {
    world,
    /**
     * @param {import('./process').Process} process
     * @param {string} [name]
     * @param {any} [options]
     */
    open: (process, name = '/log', options = {}) => settled(world, process.require('./promises').open(name, { blockSize: 512, sync: 'always', ...options })),
    /** @param {Promise<any>} promise */
    settled: (promise) => settled(world, promise),
    /** @param {() => boolean} isDone */
    until: (isDone) => until(world, isDone),
    /** The power is cut, and what was not fsynced is gone. */
    lose: () => loseUnsynced(world),
    /** @param {any} log */
    values: (log) => settled(world, valuesOf(log)),
    /** @param {Promise<any>} promise @returns {Promise<string>} the code of its error, or `ok` */
    codeOf: (promise) => settled(world, promise.then(() => 'ok', err => err.code ?? String(err)))
  }
}

/** A shared log with one record, the process that owns it, and how another one opens it. */
async function sharedLog () {
  const m = machine()
  const join = (/** @type {import('./process').Process} */ process = m.world.start()) => m.settled(process.require('./promises').open('/log', { shared: true }))
  const process = m.world.start()
  const owner = await join(process)
  await m.settled(owner.append('first'))
  return { ...m, process, owner, join }
}

/** @param {any} source of records: a log or a cursor */
async function valuesOf (source) {
  const values = []
  for await (const { value } of source.stream()) values.push(String(value))
  return values
}

/**
 * Kills a process at a call, which is not made.
 * @param {import('./world').World} world
 * @param {import('./process').Process} process
 * @param {(name: string, args: any[]) => boolean} isIt
 */
function killAt (world, process, isIt) {
  world.fault = (caller, name, args) => {
    if (caller !== process || !isIt(name, args)) return null
    world.timeline.add(0, () => world.kill(process))
    return 'EIO'
  }
}

/**
 * @param {import('./process').Process} process
 * @param {number | string} where a file that it has open, or a path
 * @returns {string} the path
 */
function pathOf (process, where) {
  return typeof where === 'number' ? String(process.calls.files.get(where)?.path) : String(where)
}

/**
 * Of the names in the root that were not fsynced, a power cut leaves these as they are now.
 * @param {import('./world').World} world
 * @param {string[]} kept
 */
function keepNames (world, ...kept) {
  const { root } = world.disk
  root.changes = root.changes.filter((names) => {
    if (!Object.keys(names).some(name => kept.includes(name))) return true
    for (const [name, inode] of Object.entries(names)) inode === null ? root.durable.delete(name) : root.durable.set(name, inode)
    return false
  })
}

module.exports = { keepNames, killAt, machine, pathOf, sharedLog, valuesOf }
