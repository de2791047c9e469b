'use strict'

// What is noticed of a log's file and FILE.meta: by the system's events, and by
// polling where there are none or a caller waits.

const test = require('tape')
const fs = require('fs')
const { FileWatch } = require('../../lib/storage/watch')
const { testFolder } = require('../helpers/folder')
const { event } = require('../helpers/reading')
const { runtime } = require('../helpers/runtime')

/** A clock whose timers the test fires. */
function manualClock () {
  const timers = new Set()
  return {
    timers,
    now: () => 0,
    setTimeout (run, milliseconds) {
      const timer = { run, milliseconds, keepsAlive: true, unref () { timer.keepsAlive = false } }
      timers.add(timer)
      return timer
    },
    clearTimeout: (timer) => timers.delete(timer),
    setImmediate: () => {},
    schedstat: () => null,
    bytesFetched: () => null,
    fire () {
      for (const timer of [...timers]) {
        timers.delete(timer)
        timer.run()
      }
    }
  }
}

function watched (t, folder = testFolder(t)) {
  const log = folder('log')
  const point = folder('log.meta')
  fs.writeFileSync(log, 'log')
  const found = { log, point, folder, changes: 0, clock: manualClock() }
  found.watch = new FileWatch(log, point, () => { found.changes++ }, found.clock)
  t.teardown(() => found.watch.stop())
  /** Resolves when a change has been told that comes from here. */
  found.toldOf = async (change) => {
    await quiet()
    const { changes } = found
    change()
    while (found.changes === changes) await event(setImmediate)
  }
  return found
}

/** Events that the system has for us are told in one of the next turns of the event loop. */
async function quiet () {
  for (let i = 0; i < 5; i++) await event(setImmediate)
}

test('it tells of a log that is written, truncated, deleted, renamed or replaced', async (t) => {
  const folder = testFolder(t)
  const ways = {
    written: (log) => fs.appendFileSync(log, 'more'),
    truncated: (log) => fs.truncateSync(log, 1),
    deleted: (log) => fs.unlinkSync(log),
    renamed: (log) => fs.renameSync(log, log + '.old'),
    replaced: (log) => {
      fs.writeFileSync(log + '.other', 'other')
      fs.renameSync(log + '.other', log)
    }
  }
  for (const [how, change] of Object.entries(ways)) {
    const { log, toldOf, watch } = watched(t, folder)
    // as a reader has it
    const fd = fs.openSync(log, 'r')
    await toldOf(() => change(log))
    t.pass(how)
    fs.closeSync(fd)
    watch.stop()
  }
})

test('it tells of a FILE.meta that is written in place, replaced or removed', async (t) => {
  const { point, toldOf, watch } = watched(t)
  const put = (text) => {
    fs.writeFileSync(point + '.new', text)
    fs.renameSync(point + '.new', point)
  }
  const publish = () => {
    const fd = fs.openSync(point, 'r+')
    fs.writeSync(fd, Buffer.from('x'), 0, 1, 0)
    fs.closeSync(fd)
  }
  put('first')
  watch.metadataReplaced()
  await toldOf(publish)
  t.pass('written in place')
  await toldOf(() => put('second'))
  t.pass('replaced')
  watch.metadataReplaced()
  await toldOf(publish)
  t.pass('the new one is written in place')
  await toldOf(() => fs.unlinkSync(point))
  t.pass('removed')
  watch.metadataReplaced()
  put('third')
  watch.metadataReplaced()
  await toldOf(publish)
  t.pass('and one of the next writer')
})

test('what happens to other files in the folder is not told', async (t) => {
  const found = watched(t)
  await quiet()
  const { changes } = found
  for (let i = 0; i < 200; i++) fs.writeFileSync(found.folder(`log${i % 20}`), String(i))
  await quiet()
  t.equal(found.changes, changes)
  await found.toldOf(() => fs.appendFileSync(found.log, 'more'))
  t.pass('what happens to the log is')
})

test('while it is held, it polls, and keeps the process alive', (t) => {
  const found = watched(t)
  const { clock, watch } = found
  const pending = () => [...clock.timers].map(({ keepsAlive, milliseconds }) => [keepsAlive, milliseconds])
  // elsewhere, the system's events do not suffice
  const unheld = runtime === 'node' ? [] : [[false, 50]]
  t.deepEqual(pending(), unheld, 'not before')
  watch.hold(true)
  watch.hold(true)
  t.deepEqual(pending(), [[true, 50]])
  clock.fire()
  clock.fire()
  t.equal(found.changes, 2, 'each poll is told')
  t.deepEqual(pending(), [[true, 50]], 'and followed by another')
  watch.hold(false)
  t.deepEqual(pending(), unheld, 'not after')
  watch.hold(true)
  watch.stop()
  t.deepEqual(pending(), [], 'nor after stop')
  watch.hold(true)
  t.deepEqual(pending(), [])
  t.end()
})

test('where the system cannot tell, it always polls, and keeps the process alive only while held', (t) => {
  const { watch: original } = fs
  t.teardown(() => { fs.watch = original })
  fs.watch = () => { throw Object.assign(new Error('ENOSPC: no watches left'), { code: 'ENOSPC' }) }
  const found = watched(t)
  const { clock, watch } = found
  const keepsAlive = () => [...clock.timers].map(({ keepsAlive }) => keepsAlive)
  t.deepEqual(keepsAlive(), [false])
  clock.fire()
  t.equal(found.changes, 1)
  watch.hold(true)
  t.deepEqual(keepsAlive(), [true])
  watch.hold(false)
  t.deepEqual(keepsAlive(), [false])
  watch.stop()
  t.deepEqual(keepsAlive(), [])
  t.end()
})

test('without events of FILE.meta, it polls', (t) => {
  const { watch: original } = fs
  t.teardown(() => { fs.watch = original })
  const found = watched(t)
  t.equal(found.clock.timers.size, runtime === 'node' ? 0 : 1, 'that there is none yet is no reason')
  fs.watch = () => { throw Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' }) }
  found.watch.metadataReplaced()
  t.equal(found.clock.timers.size, 1)
  t.end()
})
