'use strict'

// Filters on records that are unusual JSON: none may end a filter, or keep it busy for long.

const test = require('tape')
const { decodeJson, filterOf } = require('../../json')

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
