'use strict'

// Under the permission model of Node.js, with the folder of the log allowed.

const fs = require('fs')
const path = require('path')
const { spawnSync } = require('child_process')
const tape = require('tape')
const { open } = require('../../promises')
const { testFolder } = require('../helpers/folder')
const { isNode } = require('../helpers/runtime')
const { canLock } = require('../../lib/storage/lock')

const ROOT = fs.realpathSync(path.join(__dirname, '..', '..'))
const PROGRAM = path.join(ROOT, 'test/helpers/programs/permitted.js')
const FLAG = ['--permission', '--experimental-permission'].find(flag => process.allowedNodeEnvironmentFlags.has(flag))
const skip = !isNode || FLAG === undefined

tape('under the permission model, what is allowed works, without a lock, unless nothing can be fsynced', { skip }, async (t) => {
  const outcomes = await runPermitted(t, [])
  const { canFsync } = outcomes.find(({ canFsync }) => canFsync !== undefined)
  const { allowed, readOnly, denied, required, shared } = byName(outcomes)
  t.comment(canFsync ? 'files can be fsynced' : 'no file can be fsynced')
  if (canFsync) {
    t.equal(allowed.records, 102, 'a log is appended to and read')
    t.deepEqual(outcomes.filter(({ warning }) => warning).map(({ warning }) => warning), ['FLUMELOG_NO_LOCK'], 'with a warning')
    t.deepEqual([required.code, shared.code], ['flumelog:no-lock', 'flumelog:no-lock'], 'what needs a lock fails')
  } else {
    t.equal(allowed.code, 'ERR_ACCESS_DENIED', 'a log for writing is not opened')
    t.match(allowed.message, /log: the permission model .* allows no fsync/, 'since no append could be made durable')
  }
  t.equal(readOnly.records, 3, 'a log is read')
  t.equal(denied.code, 'ERR_ACCESS_DENIED', 'elsewhere nothing is written')
})

tape('under the permission model with addons allowed, logs are locked and shared', { skip: skip || !canLock }, async (t) => {
  // fs-native-extensions looks for this file
  const outcomes = await runPermitted(t, ['--allow-addons', '--allow-fs-read=/etc/alpine-release'])
  const { allowed, required, shared } = byName(outcomes)
  if (allowed.code === undefined) t.deepEqual([allowed.records, required.records, shared.records], [102, 105, 208])
  t.deepEqual(outcomes.filter(({ warning }) => warning), [], 'without a warning')
})

/** @returns {Promise<any[]>} what the program has printed */
async function runPermitted (t, flags) {
  const folder = testFolder(t)
  for (const name of ['in', 'out']) fs.mkdirSync(folder(name))
  const log = await open(folder('in/filled'))
  await log.append(['one', 'two', 'three'])
  await log.close()
  const real = fs.realpathSync(folder('.'))
  const files = { allowed: path.join(real, 'in/log'), filled: path.join(real, 'in/filled'), denied: path.join(real, 'out/log') }
  const { stdout, stderr, status } = spawnSync(process.execPath, [
    FLAG, ...flags, `--allow-fs-read=${ROOT}`, `--allow-fs-read=${real}`, `--allow-fs-write=${path.join(real, 'in')}`, PROGRAM, JSON.stringify(files)
  ], { encoding: 'utf8' })
  t.equal(status, 0, status === 0 ? 'the program ends' : stderr)
  return stdout.trim().split('\n').map(line => JSON.parse(line))
}

function byName (outcomes) {
  return Object.fromEntries(outcomes.filter(({ name }) => name).map(outcome => [outcome.name, outcome]))
}
