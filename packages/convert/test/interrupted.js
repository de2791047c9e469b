'use strict'

// Imports that are killed, before each of their calls that change a file: the files are copied as they are then, and the same import
// has to start again beside the copy.

const fs = require('fs')
const path = require('path')
const { copyBeforeCalls } = require('../../../test/helpers/copied-calls')
const test = require('tape')

// before the code under test is loaded, which may keep references to functions of fs
const calls = copyBeforeCalls()
const { importLog: importWith } = require('../lib/import-log')
const { importLog } = require('..')
const { workFor } = require('../../../lib/work')
const { testFolder } = require('../../../test/helpers/folder')
const { codeOf } = require('../../../test/helpers/reading')
const { killAt, machine } = require('../../../test/helpers/simulator/machine')

const MIB = 1024 * 1024
const OWN = ['log', 'log.import-map', 'log.skipped']
const workOf = workFor('importLog', [])
const importSmall = (old, target, options = {}, settings = {}) =>
  importWith(old, target, { from: undefined, keepDeleted: true, skip: true, blockSize: 65536, ...settings }, workOf(options))

/** A file of flumelog-offset with deleted records, ones that are too large, and a torn end. */
function makeOld (file, megabytes) {
  const parts = []
  let offset = 0
  for (let i = 0; offset < megabytes * MIB; i++) {
    const length = i % 50 === 0 ? 70000 : i % 7 === 0 ? 30000 : 40 + i % 900
    const frame = Buffer.alloc(10)
    offset += length + 14
    frame.writeUInt32BE(length)
    frame.writeUIntBE(offset, 4, 6)
    parts.push(frame.subarray(0, 4), Buffer.alloc(length, i % 11 === 5 ? 0 : `record ${i}`), frame)
  }
  fs.writeFileSync(file, Buffer.concat([...parts, Buffer.from('torn')]))
}

const filesIn = (folder) => Object.fromEntries(fs.readdirSync(folder).map(file => [file, fs.readFileSync(path.join(folder, file))]))

/** Copies files, and which of them are two names of one. */
function copyFiles (from, to) {
  for (;;) {
    try {
      return tryToCopy(from, to)
    } catch (err) {
      // a call that had begun before has renamed one
      if (err.code !== 'ENOENT') throw err
      fs.rmSync(to, { recursive: true })
    }
  }
}

function tryToCopy (from, to) {
  fs.mkdirSync(to)
  const inodes = new Map()
  for (const file of fs.readdirSync(from)) {
    const { ino } = fs.statSync(path.join(from, file))
    if (inodes.has(ino)) fs.linkSync(inodes.get(ino), path.join(to, file))
    else fs.copyFileSync(path.join(from, file), path.join(to, file))
    inodes.set(ino, path.join(to, file))
  }
}

test('an import that is killed at any point starts again with the same call, and gives the same files', async (t) => {
  const name = testFolder(t)
  makeOld(name('old'), 4)
  fs.mkdirSync(name('new'))
  const copies = []
  let number = 0
  calls.before = (call) => {
    const copy = name(`copy${number++}`)
    copyFiles(name('new'), copy)
    copies.push({ copy, call })
  }
  const whole = await importSmall(name('old'), name('new/log'))
  calls.before = null
  t.ok(copies.length > 10, `${copies.length} copies`)
  const wanted = filesIn(name('new'))
  t.deepEqual(withoutCount(Object.keys(wanted)), ['log', 'log.import-map', 'log.skipped'])

  let wrong = 0
  let complete = 0
  for (const [i, { copy, call }] of copies.entries()) {
    const isComplete = fs.existsSync(path.join(copy, 'log'))
    const result = await importSmall(name('old'), path.join(copy, 'log')).catch(err => err)
    if (isComplete) complete++
    const found = filesIn(copy)
    const isSame = Object.keys(found).length === Object.keys(wanted).length && OWN.every(file => found[file]?.equals(wanted[file]))
    const isRight = isComplete
      ? result.code === 'EEXIST'
      : ['records', 'bytes', 'deleted', 'skipped', 'corrupt', 'size', 'digest'].every(key => result[key] === whole[key]) && result.torn.offset === whole.torn.offset
    if (!isSame || !isRight) {
      wrong++
      t.comment(`killed before call ${i}, ${call}: ${Object.keys(found)}; ${JSON.stringify(result)} ${result.stack}`)
    }
    fs.rmSync(copy, { recursive: true })
  }
  t.equal(wrong, 0, 'all are as without an interruption, and nothing else is left')
  t.ok(complete > 0, `${complete} of them had the log's name already`)
})

test('an import that is stopped by its signal leaves nothing, and the same call starts again', async (t) => {
  const name = testFolder(t)
  makeOld(name('old'), 4)
  const stop = new AbortController()
  const onProgress = ({ bytes }) => { if (bytes > 3 * MIB) stop.abort(new Error('enough')) }
  t.match(await importSmall(name('old'), name('log'), { signal: stop.signal, onProgress }).catch(err => err.message), /enough/)
  t.deepEqual(fs.readdirSync(name('.')), ['old'])
  const steps = []
  await importSmall(name('old'), name('log'), { onProgress: ({ step, bytes, total }) => steps.push([step, bytes, total]) })
  t.deepEqual(steps[0], ['import', 0, fs.statSync(name('old')).size])
  t.deepEqual([steps.at(-1)[0], steps.at(-1)[1]], ['check', steps.at(-1)[2]])
  t.deepEqual(withoutCount(fs.readdirSync(name('.'))), [...OWN, 'old'].sort())
})

test('what lies under the temporary name is removed, whatever it is', async (t) => {
  const name = testFolder(t)
  makeOld(name('old'), 1)
  fs.writeFileSync(name('log.importing'), 'no log')
  fs.writeFileSync(name('log.importing.meta'), 'no point')
  fs.writeFileSync(name('log.importing.skipped'), 'a record of another file')
  fs.writeFileSync(name('log.import-map'), 'a map that got its name before the log did')
  const { records } = await importSmall(name('old'), name('log'))
  t.ok(records > 100)
  t.deepEqual(withoutCount(fs.readdirSync(name('.'))), [...OWN, 'old'].sort())
  t.notOk(fs.readFileSync(name('log.skipped'), 'utf8').includes('another file'))
})

test('two processes cannot import into the same log at the same time', async (t) => {
  const name = testFolder(t)
  makeOld(name('old'), 1)
  let second
  await importLog(name('old'), name('log'), { skip: true, onProgress: ({ step }) => { if (step === 'check') second ??= codeOf(importLog(name('old'), name('log'), { skip: true })) } })
  t.ok(['flumelog:locked', 'EEXIST'].includes(await second), await second)
})

test('a log that differs when it is read back gets no name', async (t) => {
  const name = testFolder(t)
  makeOld(name('old'), 3)
  const overwrite = (offset) => {
    const fd = fs.openSync(name('log.importing'), 'r+')
    fs.writeSync(fd, Buffer.from('XXXX'), 0, 4, offset)
    fs.closeSync(fd)
  }
  // the end of the log is read last
  let isAtEnd = false
  const onProgress = ({ step, bytes, total }) => {
    if (step !== 'check' || isAtEnd) return
    isAtEnd = true
    overwrite(total - 1000)
  }
  t.equal(await codeOf(importLog(name('old'), name('log'), { skip: true, onProgress })), 'flumelog:corrupt')
  t.deepEqual(fs.readdirSync(name('.')), ['old'])
})

test('an import that was killed before its log had a durable name can be repeated after a power cut, whichever names that leaves', async (t) => {
  const outcomes = []
  for (let seed = 1; seed <= 16; seed++) {
    const { world, settled, until, open, values, codeOf } = machine(seed)
    const first = world.start()
    const file = await settled(first.require('fs').promises.open('/old', 'w'))
    // a file of flumelog-offset
    await settled(file.write(Buffer.from('00000001610000000100000000000f', 'hex')))
    await settled(file.sync())
    await settled(file.close())
    await settled(first.require('./lib/storage/directory').syncFolder('/'))
    killAt(world, first, (name) => name === 'fsync' && world.disk.root.entries.has('log'))
    first.require('flumelog-convert').importLog('/old', '/log').catch(() => {})
    await until(() => !first.isAlive)
    world.fault = () => null
    world.cutPower()
    const isThere = world.disk.root.entries.has('log')
    const second = world.start()
    outcomes.push(`${isThere ? 'there' : 'not there'}: ${await codeOf(second.require('flumelog-convert').importLog('/old', '/log'))}`)
    t.deepEqual(await values(await open(second, '/log', { blockSize: undefined })), ['a'])
    world.end()
  }
  t.deepEqual([...new Set(outcomes)].sort(), ['not there: ok', 'there: EEXIST'])
})

/** On Deno there is none. */
function withoutCount (files) {
  return files.filter(file => !file.endsWith('.meta')).sort()
}
