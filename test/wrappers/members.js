'use strict'

// The members of each interface: the promises have a counterpart for each member of the log
// with callbacks, and all of them are ordinary properties, which a caller can replace.

const tape = require('tape')
const FlumeLog = require('../..')
const { open, wrap } = require('../../promises')
const maintenance = require('../../maintenance')
const { newFile } = require('../helpers/folder')
const { promises } = require('../helpers/promises')

/** What each member of the log with callbacks is called in the log with promises. */
const COUNTERPARTS = {
  filename: 'filename',
  blockSize: 'blockSize',
  codec: 'codec',
  start: 'start',
  role: 'role',
  since: 'since',
  highWaterMark: 'highWaterMark',
  append: 'append',
  sink: 'appendFrom',
  get: 'get',
  getPrevious: 'getPrevious',
  stream: 'stream',
  batches: 'batches',
  scan: 'scan',
  search: 'search',
  del: 'del',
  id: 'id',
  compact: 'compact',
  onCompact: 'onCompact',
  trim: 'trim',
  cursor: 'cursor',
  cursors: 'cursors',
  onReady: 'ready',
  onDrain: 'drained',
  sync: 'sync',
  backup: 'backup',
  close: 'close',
  stats: 'stats',
  // tells flumedb which functions with callbacks to pass through
  methods: null
}
/** Members that only the log with promises has: the log that it wraps. */
const OWN = ['flumelog']

/** The names of all properties, inherited ones of classes included. */
function membersOf (object) {
  const names = new Set()
  for (let at = object; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) names.add(name)
  }
  names.delete('constructor')
  return [...names].sort()
}

tape('the log with promises has a counterpart for every member of the log with callbacks, and no other members', async (t) => {
  const log = await open(newFile())
  t.deepEqual(Object.keys(log.flumelog).sort(), Object.keys(COUNTERPARTS).sort(), 'the table lists every member')
  const expected = [...Object.values(COUNTERPARTS).filter(name => name !== null), ...OWN]
  t.deepEqual(membersOf(log), expected.sort())
  t.deepEqual(Object.keys(log.flumelog.since).sort(), ['next', 'once', 'refuse', 'set', 'value'], 'a listener of the observable is a loop over `changes`')
  t.deepEqual(membersOf(log.since), ['changes', 'next', 'observable', 'value'])
  await log.close()
})

const ENTRIES = {
  'the log with callbacks': () => FlumeLog(newFile()),
  'the log with promises': () => wrap(FlumeLog(newFile())),
  'the exports of promises': () => ({ ...require('../../promises') }),
  'the exports of maintenance': () => ({ ...maintenance })
}

for (const [entry, make] of Object.entries(ENTRIES)) {
  tape(`every member of ${entry} can be replaced, deleted and redefined`, async (t) => {
    for (const name of membersOf(make())) {
      const object = make()
      const value = { highWaterMark: 1000 }[name] ?? (() => 'replaced')
      // this file is in strict mode: an assignment that has no effect throws
      object[name] = value
      t.equal(object[name], value, name)
      const descriptor = descriptorOf(object, name)
      t.ok(descriptor.configurable && (descriptor.writable || descriptor.set !== undefined), `${name} is configurable and writable`)
      Object.defineProperty(object, name, { value: 'redefined', writable: true, enumerable: true, configurable: true })
      t.equal(object[name], 'redefined')
      t.ok(delete object[name])
    }
  })
}

tape('what is replaced in a wrapper is not replaced in the log, except for the options that can be changed', async (t) => {
  const log = FlumeLog(newFile())
  const { append, stream, get, filename } = log
  const wrapper = wrap(log)
  for (const name of ['append', 'stream', 'get', 'role', 'blockSize', 'filename']) wrapper[name] = 'replaced'
  t.deepEqual([log.append, log.stream, log.get, log.role, log.blockSize, log.filename], [append, stream, get, null, 65536, filename])
  wrapper.highWaterMark = 1000
  t.equal(log.highWaterMark, 1000)
  t.throws(() => { wrapper.highWaterMark = 0 }, (err) => err.code === 'flumelog:invalid')
  log.highWaterMark = 2000
  t.equal(wrapper.highWaterMark, 2000)
  await promises(log).close()
})

tape('a stream that was replaced in the log is the one that the wrapper reads', async (t) => {
  const log = FlumeLog(newFile())
  await promises(log).append(['one', 'two'])
  const { stream } = log
  log.stream = (options) => stream({ ...options, reverse: true })
  const given = []
  for await (const value of wrap(log).stream({ seqs: false })) given.push(String(value))
  t.deepEqual(given, ['two', 'one'])
  await promises(log).close()
})

function descriptorOf (object, name) {
  for (let at = object; at !== null; at = Object.getPrototypeOf(at)) {
    const descriptor = Object.getOwnPropertyDescriptor(at, name)
    if (descriptor !== undefined) return descriptor
  }
}
