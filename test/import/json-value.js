'use strict'

// Lines of JSON are recognized by own code, since JSON.parse takes longer than everything else of an import; it is the model.

const fc = require('fast-check')
const test = require('tape')
const { spacesInJson } = require('../../lib/import/json-value')

const TOKENS = ['{', '}', '[', ']', ',', ':', '"a"', '"', '\\', '\\u00aF', '\\uD8', '\\n', '\\x', '0', '1', '-', '.', 'e', 'E+', '12', 'true', 'false', 'null', 'nul', ' ', '\t', '\n',
  'ü', '\u2028', '\ufeff', '\u0001', '\u007f', '{"a":', '[1', ',2]', '"b":', '\u00a0', 'x']

const isJson = (text) => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** As the line is found in a file. */
const spacesIn = (text, before = '', after = '\n') => {
  const start = Buffer.byteLength(before)
  return spacesInJson(Buffer.from(before + text + after), start, start + Buffer.byteLength(text))
}

const isFound = (...args) => spacesIn(...args) !== -1

test('a property: a line is taken for JSON if and only if JSON.parse takes it', (t) => {
  const line = fc.array(fc.constantFrom(...TOKENS), { maxLength: 9 }).map(tokens => tokens.join('').trim())
  fc.assert(fc.property(line, (text) => isFound(text) === isJson(text)), { verbose: 1, numRuns: 20000 })
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(0, 1), (value, indent) => isFound(JSON.stringify(value, null, indent))), { verbose: 1, numRuns: 1000 })
  t.pass('as JSON.parse')
  t.end()
})

test('a property: the spaces between tokens are counted', (t) => {
  const spaces = (indent) => fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
    const text = JSON.stringify(value, null, indent)
    return spacesIn(text) === Buffer.byteLength(text) - Buffer.byteLength(JSON.stringify(value))
  })
  for (const indent of [0, 2]) fc.assert(spaces(indent), { verbose: 1, numRuns: 1000 })
  t.pass('as JSON.stringify adds them')
  t.end()
})

test('a property: what is around a line does not make JSON of it', (t) => {
  const part = fc.constantFrom(...TOKENS)
  fc.assert(fc.property(part, fc.array(part, { maxLength: 5 }), part, (before, tokens, after) => {
    const text = tokens.join('')
    return !isFound(text, before, after) || isJson(text)
  }), { verbose: 1, numRuns: 10000 })
  t.pass('never more than JSON.parse')
  t.end()
})

test('JSON that is nested deeply is left to JSON.parse', (t) => {
  const nested = (depth) => `${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`
  t.ok(isFound(nested(20)))
  t.notOk(isFound(nested(1000)))
  t.end()
})
