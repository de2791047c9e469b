'use strict'

// docs/filters.md: each of its examples.

const fs = require('fs')
const path = require('path')
const vm = require('vm')
const test = require('tape')
const { filterOf, parseFilter, quoted } = require('../../json')
const { runtime } = require('../helpers/runtime')
const { tableUnder } = require('../helpers/tables')

const page = fs.readFileSync(path.join(__dirname, '../../docs/filters.md'), 'utf8')
const records = /```json\n([^]*?)\n```/.exec(page)[1].split('\n')
const code = (cell) => /^`(.*)`$/.exec(cell)[1]

test('each filter of docs/filters.md passes the records that the page says', async (t) => {
  const rows = tableUnder(page, 'The records of these examples:').slice(1)
  t.ok(rows.length > 25)
  for (const [cell, numbers] of rows) {
    const filter = filterOf(code(cell), 'json')
    const passed = records.map((json, i) => {
      const data = Buffer.from(json)
      const isMatch = filter.matches({ value: JSON.parse(json), json }, data)
      if (isMatch && !filter.mayMatch(data, data.length)) return `${i + 1}, by its bytes not`
      return isMatch ? i + 1 : null
    })
    t.equal(passed.filter(number => number !== null).join(', '), numbers, code(cell))
  }
})

test('docs/filters.md tells what is refused, and with which hint', async (t) => {
  for (const [cell, hint] of tableUnder(page, 'Refused, with a hint:').slice(1)) {
    let message = 'nothing'
    try {
      filterOf(code(cell), 'json')
    } catch (err) {
      message = err.message
    }
    t.ok(message.includes(hint), `${code(cell)}: ${message}`)
  }
  t.throws(() => filterOf('level = error', 'utf8'), /put text in double quotes/)
  t.throws(() => filterOf('level exists', 'hex'), /put text in double quotes/)
})

test('whatever a text is, a filter finds it in quotes', async (t) => {
  for (const text of ['a = b', '"', '\\', '\\"', 'a and b', '(', "'x'", ' ']) t.deepEqual(parseFilter(` ${quoted(text)} `), { type: 'text', text }, text)
})

test('a regular expression that takes too long is an error, whatever its form is; others take their time', async (t) => {
  const text = 'a'.repeat(100)
  for (const source of ['(a+)+b', '(a|a)*b', '(a?){60}b', 'a*a*a*a*a*a*a*a*b', '(?:(?:a+)b?)+c', '(a*)*\\1b']) {
    const { matches } = filterOf(`x ~ /${source}/`, 'json')
    if (runtime === 'bun') {
      t.throws(() => matches({ value: { x: text } }, Buffer.alloc(0)), /Bun cannot limit that/, source)
      continue
    }
    t.throws(() => matches({ value: { x: text } }, Buffer.alloc(0)), /takes more than 100 ms for one record/, source)
    t.equal(matches({ value: { x: 'aab' } }, Buffer.alloc(0)), new RegExp(source, 'u').test('aab'), 'and the next text is searched')
  }
  t.ok(filterOf('~ /b$/', 'json').matches({ text: `${'a'.repeat(1e6)}b` }, Buffer.alloc(0)))
})

test('a regular expression is searched again if this process did not run while its time passed', { skip: runtime === 'bun' }, (t) => {
  const { runInContext } = vm.Script.prototype
  t.teardown(() => { vm.Script.prototype.runInContext = runInContext })
  const timeouts = []
  vm.Script.prototype.runInContext = function (context, options) {
    timeouts.push(options.timeout)
    if (timeouts.length < 3) throw Object.assign(new Error('Script execution timed out'), { code: 'ERR_SCRIPT_EXECUTION_TIMEOUT' })
    return runInContext.call(this, context, options)
  }
  const { matches } = filterOf('x ~ /(a+)+b/', 'json')
  t.equal(matches({ value: { x: 'aab' } }, Buffer.alloc(0)), true)
  t.deepEqual(timeouts, [100, 200, 400], 'it may be allowed to run for a part of the time only')
  t.end()
})

test('a filter tells which path is missing, also if another condition has decided', async (t) => {
  const filter = filterOf('level = none and (user.nam = ada or n = 5)', 'json')
  for (const json of records.slice(0, 3)) {
    const data = Buffer.from(json)
    if (filter.mayMatch(data, data.length)) filter.matches({ value: JSON.parse(json), json }, data)
  }
  t.equal(filter.missing(), 'user.nam')
})

test('a filter tells where the texts and patterns that it looks for are', async (t) => {
  const { marks } = filterOf('disk and not full or ~ /9+/', 'json')
  t.deepEqual(marks('Disk full: 99 %'), [{ index: 0, length: 4 }, { index: 11, length: 2 }])
  t.deepEqual(marks('none'), [])
})
