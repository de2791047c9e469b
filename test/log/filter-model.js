'use strict'

// Filters and values at paths, compared with a model that knows the values, and so need not parse what is written.

const test = require('tape')
const fc = require('fast-check')
const { compact, decodeJson, filterOf, finder, pretty, quoted } = require('../../json')
const { thorough } = require('../helpers/thorough')

const KEYS = ['a', 'b', 'é', '', '0', '1', 'length', '__proto__', 'toString', 'a.b', '"', '\\', '😀', '\ud800']
const TEXTS = ['', 'a', 'x', '10', '1e1', 'null', 'true', '-0', '"', '\\', '/', '\u0000', '\u2028', '\ud800', '😀', 'ß', '+1', '.5', '5.', '1'.repeat(40) + 'x', '2020-01-01']
const NUMBERS = ['0', '-0', '0.0', '0e5', '10', '10.0', '1e1', '1.0E+1', '100e-1', '-10', '0.5', '5e-1', '9007199254740993', '9007199254740992', '12345678901234567890', '1e22', `1${'0'.repeat(310)}`, '1e400', '-1e400', '1577836800', '1577836800000']
const WANTED = [...NUMBERS, '+10', '.5', '0.50', '5.', '010', 'a', 'x', 'é', 'null', 'true', 'false', '2020', '2020-01-01', '😀', 'none']
const OPERATORS = ['=', '!=', '<', '<=', '>', '>=']

/** A value: how it is written, and what it is. */
const values = fc.letrec(tie => ({
  value: fc.oneof({ maxDepth: 3 }, tie('number'), tie('text'), tie('literal'), tie('array'), tie('object')),
  number: fc.constantFrom(...NUMBERS).map(written => ({ type: 'number', written })),
  literal: fc.constantFrom('null', 'true', 'false').map(written => ({ type: written === 'null' ? 'null' : 'boolean', written })),
  text: fc.tuple(fc.constantFrom(...TEXTS), fc.boolean()).map(([text, isEscaped]) => ({ type: 'string', text, written: written(text, isEscaped) })),
  array: fc.tuple(fc.array(tie('value'), { maxLength: 3 }), spaces()).map(([members, space]) => ({ type: 'array', members, written: `[${space}${members.map(({ written }) => written).join(`${space},`)}${space}]` })),
  object: fc.tuple(fc.array(fc.tuple(fc.constantFrom(...KEYS), fc.boolean(), tie('value')), { maxLength: 4 }), spaces()).map(([entries, space]) => ({
    type: 'object',
    members: new Map(entries.map(([key, , value]) => [key, value])),
    written: `{${space}${entries.map(([key, isEscaped, value]) => `${written(key, isEscaped)}${space}:${space}${value.written}`).join(`,${space}`)}${space}}`
  }))
}))

function spaces () {
  return fc.constantFrom('', '', ' ', '\r\n\t')
}

/** @returns {string} the text as JSON, with an escape for each of its characters if it is escaped */
function written (text, isEscaped) {
  return isEscaped ? `"${Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')}"` : JSON.stringify(text)
}

function valueAt (value, path) {
  for (const key of path) {
    value = value?.type === 'object' ? value.members.get(key) : value?.type === 'array' && /^(0|[1-9]\d*)$/.test(key) ? value.members[Number(key)] : undefined
  }
  return value
}

/** @returns {[bigint, bigint]} a number as numerator and denominator */
function fraction (number) {
  const [, sign, whole, rest = '', exponent = '0'] = /^([+-]?)(\d*)(?:\.(\d*))?(?:e(.*))?$/i.exec(number)
  const digits = BigInt(`${whole}${rest}`) * (sign === '-' ? -1n : 1n)
  const power = Number(exponent) - rest.length
  return power < 0 ? [digits, 10n ** BigInt(-power)] : [digits * 10n ** BigInt(power), 1n]
}

function compareNumbers (a, b) {
  const [[n, d], [m, e]] = [fraction(a), fraction(b)]
  return compare(n * e, m * d)
}

function compare (a, b) {
  return a < b ? -1 : a > b ? 1 : 0
}

/** @returns {number | null} null: they cannot be compared */
function orderOf (value, wanted, isQuoted) {
  const isNumber = (text) => !isQuoted && text.length > 0 && /\d/.test(text) && /^[+-]?\d*\.?\d*(e[+-]?\d+)?$/i.test(text) && !/^[+-]?e/i.test(text)
  const time = isQuoted ? undefined : { 2020: 1577836800, '2020-01-01': 1577836800 }[wanted]
  switch (value.type) {
    case 'number':
      if (isNumber(wanted)) return compareNumbers(value.written, wanted)
      if (time === undefined || Number(value.written) < 1e8 || Number(value.written) >= 1e14) return null
      return compareNumbers(value.written, `${time}${Number(value.written) >= 1e11 ? '000' : ''}`)
    case 'string':
      if (time !== undefined && value.text === '2020-01-01') return 0
      return (isNumber(wanted) && isNumber(value.text) ? compareNumbers(value.text, wanted) : 0) || compare(value.text, wanted)
    case 'boolean': return !isQuoted && ['true', 'false'].includes(wanted) ? compare(value.written, wanted) : null
    case 'null': return !isQuoted && wanted === 'null' ? 0 : null
  }
  return null
}

const passes = { '=': order => order === 0, '!=': order => order !== 0, '<': order => order !== null && order < 0, '<=': order => order !== null && order <= 0, '>': order => order !== null && order > 0, '>=': order => order !== null && order >= 0 }

const paths = fc.array(fc.constantFrom(...KEYS.filter(key => /^[^."\\]+$/.test(key)), 'none'), { minLength: 1, maxLength: 3 })
const comparisons = fc.tuple(paths, fc.constantFrom(...OPERATORS), fc.oneof(fc.constantFrom(...WANTED).map(wanted => [wanted, false]), fc.constantFrom(...TEXTS, ...NUMBERS).map(wanted => [wanted, true])))
  .map(([path, operator, [wanted, isQuoted]]) => ({
    query: `${path.join('.')} ${operator} ${isQuoted ? quoted(wanted) : wanted}`,
    model: (record) => {
      const value = valueAt(record, path)
      return value !== undefined && passes[operator](orderOf(value, wanted, isQuoted))
    }
  }))
const conditions = fc.letrec(tie => ({
  condition: fc.oneof({ maxDepth: 3 }, comparisons, tie('exists'), tie('both'), tie('either'), tie('not')),
  exists: paths.map(path => ({ query: `${path.join('.')} exists`, model: (record) => valueAt(record, path) !== undefined })),
  both: fc.tuple(tie('condition'), tie('condition')).map(([a, b]) => ({ query: `(${a.query}) and (${b.query})`, model: (record) => a.model(record) && b.model(record) })),
  either: fc.tuple(tie('condition'), tie('condition')).map(([a, b]) => ({ query: `(${a.query}) or (${b.query})`, model: (record) => a.model(record) || b.model(record) })),
  not: tie('condition').map(({ query, model }) => ({ query: `not (${query})`, model: (record) => !model(record) }))
}))

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env.RUNS ?? (thorough ? 20000 : 1000))

test('a filter passes the records that the model passes', (t) => {
  fc.assert(fc.property(fc.array(values.value, { minLength: 1, maxLength: 6 }), conditions.condition, (records, { query, model }) => {
    if (query.length > 1000) return
    const filter = filterOf(query, 'json')
    for (const record of records) {
      const data = Buffer.from(record.written)
      const mayMatch = filter.mayMatch(data, data.length)
      const isMatch = mayMatch && filter.matches(decodeJson(data), data)
      if (isMatch !== model(record)) throw new Error(`${query}: ${record.written.slice(0, 400)} ${isMatch ? 'passes' : `does not pass${mayMatch ? '' : ' by its bytes'}`}`)
    }
  }), { numRuns, seed })
  t.pass(`seed ${seed}`)
  t.end()
})

test('a value is found as it is written, and without spaces and with line ends, it is the same', (t) => {
  fc.assert(fc.property(values.value, fc.array(fc.constantFrom(...KEYS), { maxLength: 3 }), (record, path) => {
    const text = record.written
    const found = finder(text)(path)
    const value = valueAt(record, path)
    if (found !== (value === undefined ? undefined : String(compact(Buffer.from(value.written))))) throw new Error(`${found}`)
    const same = JSON.stringify(JSON.parse(text))
    for (const other of [String(compact(Buffer.from(text))), pretty(text)]) if (JSON.stringify(JSON.parse(other)) !== same) throw new Error(other)
  }), { numRuns, seed })
  t.pass(`seed ${seed}`)
  t.end()
})
