'use strict'

// Imports that are killed, before each of their calls that change a file: the files are copied as they are then, and the same import
// has to complete what is in the copy.

const fs = require('fs')
const path = require('path')
const { copyBeforeCalls } = require('../helpers/copied-calls')
const test = require('tape')

// before the code under test is loaded, which may keep references to functions of fs
const calls = copyBeforeCalls()
const { importLog: importWith } = require('../../lib/import/import-log')
const { importLog } = require('../../import')
const { workFor } = require('../../lib/maintenance/work')
const { parseLine } = require('../../lib/storage/recovery-point-text')
const { testFolder } = require('../helpers/folder')
const { codeOf } = require('../helpers/reading')

const MIB = 1024 * 1024
const workOf = workFor('importLog', [])
const importSmall = (old, target, options = {}, settings = {}) =>
  importWith(old, target, { from: undefined, keepDeleted: true, skip: true, blockSize: 65536, stateInterval: MIB, ...settings }, workOf(options))

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

/** What a power cut may do to what is not durable: something else is there, or nothing. */
function loseUnsynced (folder, isCut) {
  const name = (suffix) => path.join(folder, `log.importing${suffix}`)
  const text = fs.existsSync(name('.state')) ? parseLine(fs.readFileSync(name('.state'), 'utf8').split('\n')[0]) : null
  const { snapshot, finished } = text === null ? { snapshot: null, finished: null } : JSON.parse(text)
  if (finished !== null) return
  for (const [suffix, size] of [['', snapshot?.size], ['.map', snapshot?.mapSize], ['.skipped', snapshot?.skippedSize]]) {
    if (!fs.existsSync(name(suffix))) continue
    const now = fs.statSync(name(suffix)).size
    fs.truncateSync(name(suffix), size ?? 0)
    if (!isCut) fs.truncateSync(name(suffix), now)
  }
}

test('an import that is killed at any point is completed by the same call, and gives the same files', async (t) => {
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
  t.ok(copies.length > 40, `${copies.length} copies`)
  const wanted = filesIn(name('new'))
  t.deepEqual(Object.keys(wanted).sort(), ['log', 'log.import-map', 'log.skipped'])

  let wrong = 0
  let continued = 0
  for (const [i, { copy, call }] of copies.entries()) {
    if (i % 3 > 0) loseUnsynced(copy, i % 3 === 1)
    const result = await importSmall(name('old'), path.join(copy, 'log'))
    if (result.continued > 0) continued++
    const found = filesIn(copy)
    const isSame = Object.keys(found).length === 3 && Object.keys(wanted).every(file => found[file]?.equals(wanted[file]))
    const isRight = ['records', 'bytes', 'deleted', 'skipped', 'corrupt', 'size', 'digest'].every(key => result[key] === whole[key]) && result.torn.offset === whole.torn.offset
    if (!isSame || !isRight) {
      wrong++
      t.comment(`killed before call ${i}, ${call}: ${Object.keys(found)}; ${JSON.stringify(result)}`)
    }
    fs.rmSync(copy, { recursive: true })
  }
  t.equal(wrong, 0, 'all are as without an interruption')
  t.ok(continued > 0, `${continued} of them went on where they had stopped`)
})

test('an import that is stopped by its signal, or by what cannot be stored, is continued by the same call', async (t) => {
  const name = testFolder(t)
  makeOld(name('old'), 4)
  const stop = new AbortController()
  const onProgress = ({ bytes }) => { if (bytes > 3 * MIB) stop.abort(new Error('enough')) }
  t.match(await importSmall(name('old'), name('log'), { signal: stop.signal, onProgress }).catch(err => err.message), /enough/)
  t.notOk(fs.existsSync(name('log')), 'there is no log yet')
  t.ok(fs.existsSync(name('log.importing.state')))
  const steps = []
  const { continued } = await importSmall(name('old'), name('log'), { onProgress: ({ step, bytes, total }) => steps.push([step, bytes, total]) })
  t.ok(continued > 0 && continued < 4 * MIB)
  t.deepEqual(steps[0], ['import', continued, fs.statSync(name('old')).size])
  t.deepEqual([steps.at(-1)[0], steps.at(-1)[1]], ['check', steps.at(-1)[2]])
  t.deepEqual(fs.readdirSync(name('.')).sort(), ['log', 'log.import-map', 'log.skipped', 'old'])
})

test('an import starts anew if the old file, or what is to be done with it, has changed', async (t) => {
  const name = testFolder(t)
  const stopAt = async () => {
    const stop = new AbortController()
    await importSmall(name('old'), name('log'), { signal: stop.signal, onProgress: ({ bytes }) => { if (bytes > 3 * MIB) stop.abort() } }).catch(() => {})
    t.ok(fs.existsSync(name('log.importing.state')))
  }
  makeOld(name('old'), 4)
  await stopAt()
  t.equal((await importSmall(name('old'), name('log'), {}, { keepDeleted: false })).continued, 0)
  for (const file of ['log', 'log.import-map', 'log.skipped']) fs.rmSync(name(file))
  await stopAt()
  fs.appendFileSync(name('old'), 'more')
  t.equal((await importSmall(name('old'), name('log'))).continued, 0)
})

test('a state that is torn or of other files is not believed', async (t) => {
  const name = testFolder(t)
  makeOld(name('old'), 1)
  fs.writeFileSync(name('log.importing.state'), 'no state')
  fs.writeFileSync(name('log.importing'), 'no log')
  const { continued, records } = await importSmall(name('old'), name('log'))
  t.equal(continued, 0)
  t.ok(records > 100)
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

  const stop = new AbortController()
  await importSmall(name('old'), name('log'), { signal: stop.signal, onProgress: ({ bytes }) => { if (bytes > 2.5 * MIB) stop.abort() } }).catch(() => {})
  t.ok(fs.existsSync(name('log.importing.state')))
  overwrite(100000)
  t.equal(await codeOf(importSmall(name('old'), name('log'))), 'flumelog:corrupt', 'also what an import that was interrupted had written')
  t.deepEqual(fs.readdirSync(name('.')), ['old'])
})
