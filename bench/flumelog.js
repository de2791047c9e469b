'use strict'

// Runs bench-flumelog, the common benchmark of flumelogs, on each of them: append, 16 in
// flight; stream; stream no cache; stream10, ten at a time; random, 1024 in flight. It runs
// as published, except for two lines.

const fs = require('fs')
const vm = require('vm')
const { createRequire } = require('module')
const peers = require('./peers')

/** Duration of each of its five parts. */
const TIME = { quick: ['var TIME = 5e3', 'var TIME = 3e2'], full: ['var TIME = 5e3', 'var TIME = 1e3'] }
/** Appended records must be in the file before they are read. */
const APPENDED = ['        next2()\n', '        whenWhole(next2)\n']

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  return [{
    name: `as published, ${size === 'full' ? '1 s' : '0.3 s'} per part instead of 5 s`,
    rounds: 2,
    rows: peers.filter(({ kind }) => kind === 'flumelog').map(peer => ({
      name: peer.name,
      note: [peer.note, peer.cacheNote].filter(Boolean).join('; '),
      run: ({ scratch }) => run(peer, scratch, [APPENDED, TIME[size]])
    }))
  }]
}

/**
 * @param {object} peer
 * @param {string} folder
 * @param {string[][]} changes to its source: pairs of old and new text
 */
function run (peer, folder, changes) {
  return new Promise((resolve, reject) => {
    const measures = []
    // it prints one line per part: name, ops/second, mb/second, ops, total-mb, seconds
    console.log = (line) => {
      const [part, , , records, megabytes, seconds] = line.split(', ')
      if (part === 'name') return
      measures.push({ part, phase: 'cold', records: Number(records), bytes: Number(megabytes) * 2 ** 20, seconds: Number(seconds) })
      if (part === 'random') resolve(measures)
    }
    const log = asFlumelog(peer.create(folder))
    const whenWhole = (next) => log.onDrain === undefined ? next() : log.onDrain((err) => err ? reject(err) : next())
    changed('bench-flumelog', changes, whenWhole)(() => log)
  })
}

/**
 * @param {string} name of the package
 * @param {string[][]} changes to its source
 * @param {Function} whenWhole called by the changed source
 */
function changed (name, changes, whenWhole) {
  const filename = require.resolve(name)
  let source = fs.readFileSync(filename, 'utf8')
  for (const [from, to] of changes) {
    if (source.split(from).length !== 2) throw new Error(`${name} has changed: '${from.trim()}' does not occur exactly once`)
    source = source.replace(from, to)
  }
  const module = { exports: {} }
  vm.compileFunction(source, ['module', 'require', 'whenWhole'], { filename })(module, createRequire(filename), whenWhole)
  return module.exports
}

/** Logs with push-streams include wrappers that make them flumelogs; one of these says offset for seq. */
function asFlumelog (log) {
  if (log.onWrite !== undefined) return require('flumelog-aligned-offset/compat')(log)
  if (log.compact === undefined) return log
  const { stream } = require('async-append-only-log/compat')(log)
  log.stream = (options) => {
    const read = stream(options)
    return (abort, cb) => read(abort, (end, item) => end ? cb(end) : cb(null, { seq: item.offset, value: item.value }))
  }
  return log
}

module.exports = { name: 'flumelog', question: 'How do the flumelogs compare?', groups, asFlumelog }
