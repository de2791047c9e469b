'use strict'

// Filters on records that are unusual JSON: none may end a filter, or keep it busy for long.

const test = require('tape')
const { decodeJson, filterOf, finder, pretty } = require('../../json')

/**
 * @param {string} query
 * @param {string} json
 * @returns {boolean} whether the record passes, by its bytes, too
 */
function passes (query, json) {
  const data = Buffer.from(json)
  const filter = filterOf(query, 'json')
  return filter.mayMatch(data, data.length) && filter.matches(decodeJson(data), data)
}

test('a filter by path passes over objects and arrays, whatever is in them', (t) => {
  const deep = `${'['.repeat(30000)}${']'.repeat(30000)}`
  for (const value of ['{"toString":1}', '{"toString":null,"valueOf":"x"}', '[[{"toString":1}]]', '{"__proto__":null,"toString":[]}', deep]) {
    const record = `{"a":${value}}`
    const name = value.slice(0, 40)
    t.equal(passes('a exists', record), true, `${name} exists`)
    t.equal(passes('a = 1', record), false, `${name} = 1`)
    t.equal(passes('a != 1', record), true, `${name} != 1`)
    t.equal(passes('a ~ /./', record), false, `${name} ~ /./`)
  }
  t.end()
})

test('a long text that begins like a number is compared in time that grows with its length', (t) => {
  const digits = '1'.repeat(65000)
  const start = Date.now()
  for (const text of [`${digits}x`, `${digits}.${digits}x`, `.${digits}x`, `1e${digits}x`]) t.equal(passes('a = 2', `{"a":"${text}","b":2}`), false)
  t.ok(Date.now() - start < 2000, `${Date.now() - start} ms`)
  t.end()
})

test('a value in quotes is a string, also if it is null or empty', (t) => {
  const records = ['{"a":null}', '{"a":"null"}', '{"a":""}', '{"a":"x"}']
  const passed = (query) => records.filter(json => passes(query, json))
  t.deepEqual(passed('a = null'), ['{"a":null}', '{"a":"null"}'])
  t.deepEqual(passed('a = "null"'), ['{"a":"null"}'])
  t.deepEqual(passed('a != "null"'), ['{"a":null}', '{"a":""}', '{"a":"x"}'])
  t.deepEqual(passed('a = ""'), ['{"a":""}'])
  t.deepEqual(passed('a > ""'), ['{"a":"null"}', '{"a":"x"}'])
  t.end()
})

test('a filter finds members of arrays by their positions only, and integers that are greater than any number of JavaScript', (t) => {
  t.equal(passes('a.length = 2', '{"a":[1,2],"length":2}'), false)
  t.equal(passes('a.length = 2', '{"a":{"length":2}}'), true)
  t.equal(passes('a.1 = 2', '{"a":[1,2]}'), true)
  const large = '1'.repeat(400)
  t.equal(passes(`a = ${large}`, `{"a":${large}}`), true)
  t.equal(passes(`a < ${large}`, `{"a":${large}}`), false)
  t.equal(passes('a > 5', '{"a":1e400}'), true)
  t.equal(passes('a < -5', '{"a":-1e400}'), true)
  t.end()
})

test('the bytes of a record are searched once for each condition of a filter, however conditions are nested', (t) => {
  let query = 'a0 = 1'
  for (let i = 1; i < 60; i++) query = `(${query} and a${i} = 1)`
  t.equal(passes(query, '{"b":1}'), false)
  t.end()
})

test('a string with millions of escapes is found, and printed', (t) => {
  for (const escape of ['\\n', '\\\\']) {
    const text = `"${escape.repeat(5e6)}"`
    t.ok(finder(`{"a":${text},"b":1}`)(['a']) === text, `${escape} found`)
    t.ok(pretty(`{"a":${text}}`) === `{\n  "a": ${text}\n}`, `${escape} printed`)
  }
  t.end()
})
