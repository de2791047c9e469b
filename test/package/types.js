'use strict'

// The programs in test/types use every member of the log, and of its wrappers, in valid and
// invalid ways; test/package/package.js compiles them.

const fs = require('fs')
const path = require('path')
const tape = require('tape')
const RAM = require('random-access-memory')
const FlumeLog = require('../..')
const { FlumeLog: PromiseLog } = require('../../promises')
const { RecordIterator } = require('../../lib/wrappers/iterator')
const { PushSource } = require('../../lib/wrappers/push-source')
const { promises } = require('../helpers/promises')

const PROGRAMS = path.join(__dirname, '..', 'types')
const program = (file) => fs.readFileSync(path.join(PROGRAMS, file), 'utf8')

tape('the programs use every member of the log, and of its wrappers', async (t) => {
  const log = FlumeLog(new RAM())
  await promises(log).close()
  const unused = (text, names) => names.filter(name => !new RegExp(`\\.${name}\\b`).test(text))
  t.deepEqual(unused(program('log.cts'), Object.keys(log)), [], 'the log')
  t.deepEqual(unused(program('promises.mts'), methodsOf(PromiseLog)), [], 'with promises')
  t.deepEqual(unused(program('promises.mts'), ['next', 'return', 'throw']), [], 'the iterator')
  t.ok(['next', 'return', 'throw'].every(name => methodsOf(RecordIterator).includes(name)))
  t.deepEqual(unused(program('push.cts'), ['pipe', 'resume', 'abort']), [], 'the push-stream')
  t.ok(['pipe', 'resume', 'abort'].every(name => methodsOf(PushSource).includes(name)))
  const settings = Object.keys(require('../../lib/options').settingsOf({}))
  t.deepEqual(settings.filter(name => !new RegExp(`\\b${name}\\b`).test(program('log.cts'))), [], 'every option')
})

function methodsOf (type) {
  return Object.getOwnPropertyNames(type.prototype).filter(name => name !== 'constructor')
}
