'use strict'

// flumelog search: values of one type are compared, and anything else is an error.

const fs = require('fs')
const test = require('tape')
const fc = require('fast-check')
const { comparisonOf } = require('../../lib/json/comparison')
const { finder } = require('../../lib/json/text')
const { testFolder } = require('../helpers/folder')
const { refuses } = require('../helpers/command-line')
const { makeLog, deleteFrom, overwrite, jsonRecords } = require('../helpers/logs')
const { flumelog } = require('../helpers/warm-flumelog')

const DAY = 86400000
const NEW_YEAR = Date.UTC(2018, 0, 1)

/**
 * @param {string} file
 * @param {any[]} values at the path `at`
 */
function makeSorted (file, values) {
  return makeLog(file, values.map(at => JSON.stringify({ at })), { blockSize: 64 })
}

test('search finds the first record at or after a number', async (t) => {
  const file = testFolder(t)('log')
  const records = jsonRecords(300)
  const seqs = await makeLog(file, records, { blockSize: 512 })
  const search = (value, ...args) => flumelog(['search', file, '--path', 'at', '--value', value, ...args])
  t.equal((await search('1500')).stdout, records[50] + '\n', 'there is such a record')
  const between = await search('1501', '--seqs')
  t.deepEqual(between, { ...between, code: 0, stdout: `${seqs[51]}\t${records[51]}\n`, stderr: '' }, 'there is none, so the one after')
  t.equal((await search('-5')).stdout, records[0] + '\n', 'before the first')
  t.equal((await search('999.5e0')).stdout, records[0] + '\n', 'as a number, though 999 is after 1000 as text')
  refuses(t, await search('100000'), 1, /log: no record with `at` >= 100000$/m, 'behind the last')
})

test('an ISO date is compared with numbers that are times in seconds or milliseconds, and the answer says so on stderr', async (t) => {
  const name = testFolder(t)
  const days = Array.from({ length: 60 }, (_, i) => NEW_YEAR + (i - 20) * DAY)
  await makeSorted(name('ms'), days)
  await makeSorted(name('s'), days.map(at => at / 1000))
  const search = (file, value) => flumelog(['search', 'log', '-p', 'at', '-v', value].map(arg => arg === 'log' ? file : arg), { cwd: name('.') })
  t.deepEqual(await answer(search('ms', '2018-01-01')), [`{"at":${NEW_YEAR}}\n`, `ms: \`at\` is in milliseconds since 1970, so 2018-01-01 means ${NEW_YEAR}\n`])
  t.deepEqual(await answer(search('s', '2018-01-01')), [`{"at":${NEW_YEAR / 1000}}\n`, `s: \`at\` is in seconds since 1970, so 2018-01-01 means ${NEW_YEAR / 1000}\n`])
  t.deepEqual(await answer(search('s', '2018-01-01T01:00+02:00')), [`{"at":${NEW_YEAR / 1000}}\n`, `s: \`at\` is in seconds since 1970, so 2018-01-01T01:00+02:00 means ${NEW_YEAR / 1000 - 3600}\n`])
})

/** @param {Promise<import('../helpers/command-line').Ended>} running */
async function answer (running) {
  const { stdout, stderr } = await running
  return [stdout, stderr]
}

test('a date is compared with ISO dates by time, and a string with other strings as text', async (t) => {
  const name = testFolder(t)
  await makeSorted(name('dates'), ['2017-12-31T23:30:00-01:00', '2018-01-01T00:45:00Z', '2018-01-02', '2018-02-01 10:00'])
  const search = (file, value) => answer(flumelog(['search', file, '-p', 'at', '-v', value], { cwd: name('.') }))
  t.deepEqual(await search('dates', '2018-01-01T00:31Z'), ['{"at":"2018-01-01T00:45:00Z"}\n', 'dates: `at` contains dates, so 2018-01-01T00:31Z means 2018-01-01T00:31:00.000Z\n'])
  t.deepEqual(await search('dates', '2018-01-01'), ['{"at":"2017-12-31T23:30:00-01:00"}\n', 'dates: `at` contains dates, so 2018-01-01 means 2018-01-01T00:00:00.000Z\n'])
  t.equal((await search('dates', '2018-02'))[0], '{"at":"2018-02-01 10:00"}\n', 'a month starts on its first day')

  await makeSorted(name('words'), ['9', 'ant', 'bee', 'cow'])
  t.deepEqual(await search('words', 'b'), ['{"at":"bee"}\n', ''])
  t.deepEqual(await search('words', '10'), ['{"at":"9"}\n', ''], 'as text, even if they look like numbers')
  await makeSorted(name('flags'), [false, false, true])
  t.deepEqual(await search('flags', 'true'), ['{"at":true}\n', ''])
})

test('a value that cannot be compared with those of the records is an error that says what would be right', async (t) => {
  const name = testFolder(t)
  await makeSorted(name('times'), [1514764800, 1514851200])
  const { code, stdout, stderr } = await flumelog(['search', 'times', '-p', 'at', '-v', 'abc'], { cwd: name('.') })
  t.deepEqual({ code, stdout, stderr }, { code: 1, stdout: '', stderr: "flumelog: times: --value must be a number, or an ISO date if the numbers are times, not 'abc': `at` is 1514851200 at offset 21\n" })
  const numberOrDate = 'a number, or an ISO date if the numbers are times'
  const cases = [
    [['1', '1514851200'], 'x'.repeat(99), numberOrDate, ''],
    [['1', '1514851200'], '', numberOrDate, ''],
    [['1', '300'], '2018-01-01', 'a number', ', which is not a time in seconds or milliseconds since 1970'],
    [['1514764800000000', '1514851200000000'], '2018-01-01', 'a number', ', which is not a time in seconds or milliseconds since 1970'],
    [['"2018-01-01"', '"2018-01-02"'], '1514764800', 'an ISO date', ''],
    [['false', 'true'], 'yes', 'true or false', '']
  ]
  for (const [[first, last], value, expected, reason] of cases) {
    const compare = () => comparisonOf('at', value, { json: first, seq: 0 }, { json: last, seq: 9 }, (reason) => new Error(reason))
    t.throws(compare, { message: `--value must be ${expected}, not '${value.length > 80 ? `${value.slice(0, 79)}…` : value}': \`at\` is ${last} at offset 9${reason}` }, `${value} for ${last}`)
  }
  for (const last of ['1514851200', '"2018-01-02"']) {
    const compare = () => comparisonOf('at', '2018-02-30', { json: last, seq: 0 }, { json: last, seq: 9 }, (reason) => new Error(reason))
    t.throws(compare, { message: "there is no date '2018-02-30'" })
  }
})

test('search names the records if their values are missing, of different types, or not sorted', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), jsonRecords(3))
  const search = (file, path, value = '1') => flumelog(['search', name(file), '--path', path, '--value', value])
  refuses(t, await search('log', 'time'), 1, /log: the record at offset 0 has no number, string or boolean at `time`; check --path \(keys of the record: at, value\)$/m, 'no such key')
  refuses(t, await search('log', 'value'), 1, /at `value`; check --path \(keys of `value`: author, text\)$/m, 'an object there')
  refuses(t, await search('log', 'at.x.y'), 1, /at `at.x.y`; check --path \(`at` is 1000\)$/m, 'a path through a number')
  refuses(t, await search('log', 'value.constructor.name'), 1, /has no number, string or boolean at/, 'not what every object inherits')
  await makeSorted(name('some'), [1, 2, undefined, 4, 5])
  refuses(t, await search('some', 'at', '3'), 1, /some: the record at offset \d+ has no number, string or boolean at `at`; check --path \(keys of the record: \)$/m, 'missing in between')
  await makeSorted(name('mixed'), [1, 2, 'three', 4, 5])
  refuses(t, await search('mixed', 'at', '3'), 1, /mixed: `at` is "three" at offset \d+, which is not a number like 5 at offset \d+$/m, 'different types')
  await makeSorted(name('ends'), ['one', 2])
  refuses(t, await search('ends', 'at', '3'), 1, /`at` is "one" at offset 0, which is not a number like 2 at offset \d+$/m, 'different types at the ends')
  await makeSorted(name('unsorted'), [3, 2, 1])
  refuses(t, await search('unsorted', 'at', '2'), 1, /unsorted: the log is not sorted by `at`: 3 at offset 0 comes before 1 at offset \d+$/m, 'not sorted')
  await makeLog(name('words'), ['no json'])
  refuses(t, await search('words', 'at'), 1, /words: the record at offset 0 is not JSON: /, 'no JSON')
  await makeLog(name('empty'), [])
  refuses(t, await search('empty', 'at'), 1, /empty: no record with `at` >= 1/, 'an empty log')
})

test('search ignores deleted records and corrupt blocks that it does not have to read', async (t) => {
  const file = testFolder(t)('log')
  const seqs = await makeSorted(file, Array.from({ length: 200 }, (_, i) => i))
  await deleteFrom(file, [seqs[0], seqs[199]])
  overwrite(file, 10, 'XX')
  const search = (value) => flumelog(['search', file, '-p', 'at', '-v', value])
  t.equal((await search('150')).stdout, '{"at":150}\n')
  refuses(t, await search('199'), 1, /no record with `at` >= 199$/m, 'deleted')
  refuses(t, await search('0'), 1, /block 0 is corrupt .*; use flumelog verify to list all corrupt blocks$/m, 'in the corrupt block')
  await makeSorted(file + '2', Array.from({ length: 20 }, (_, i) => i))
  fs.truncateSync(file + '2', 64)
  overwrite(file + '2', 3, 'XX')
  refuses(t, await flumelog(['search', file + '2', '-p', 'at', '-v', '1']), 1, /block 0 is corrupt .*; use flumelog verify to list all corrupt blocks$/m, 'a log with nothing else')
})

test('numbers of any length are compared exactly, and times in any unit and notation by time', (t) => {
  const fail = (reason) => new Error(reason)
  const firstAt = (values, wanted) => {
    const found = values.map((json, seq) => ({ json, seq }))
    const { compare } = comparisonOf('at', wanted, found[0], found.at(-1), fail)
    return found.findIndex(value => compare(value) >= 0)
  }
  const ascending = (a, b) => a < b ? -1 : a > b ? 1 : 0
  fc.assert(fc.property(fc.array(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), { minLength: 1 }), fc.nat(), fc.integer({ min: -1, max: 1 }), (numbers, which, more) => {
    const sorted = numbers.sort(ascending)
    const wanted = sorted[which % sorted.length] + BigInt(more)
    return firstAt(sorted.map(String), String(wanted)) === sorted.findIndex(number => number >= wanted)
  }))
  fc.assert(fc.property(fc.array(fc.tuple(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), fc.nat(4), fc.nat(25)), { minLength: 1 }), fc.nat(), (all, which) => {
    // digits * 10 ** power, with the point anywhere
    const value = ([digits, power]) => digits * 10n ** BigInt(power)
    const write = ([digits, power, shift]) => {
      const text = String(digits).replace('-', '').padStart(shift + 1, '0')
      return `${digits < 0n ? '-' : ''}${text.slice(0, text.length - shift)}${shift > 0 ? '.' + text.slice(-shift) : ''}e${power + shift}`
    }
    const sorted = all.sort((a, b) => ascending(value(a), value(b)))
    const wanted = sorted[which % sorted.length]
    return firstAt(sorted.map(number => write(number).replace(/^(-?)0+(?=\d)/, '$1')), String(value(wanted))) === sorted.findIndex(number => value(number) >= value(wanted))
  }))
  const notations = [
    (at) => String(at),
    (at) => String(at / 1000),
    (at) => JSON.stringify(new Date(at).toISOString()),
    (at) => JSON.stringify(new Date(at + 2 * 3600000).toISOString().replace('Z', '+02:00'))
  ]
  const time = fc.integer({ min: Date.UTC(1980, 0, 1) / 1000, max: Date.UTC(2100, 0, 1) / 1000 }).map(seconds => seconds * 1000)
  fc.assert(fc.property(fc.array(time, { minLength: 1 }), time, fc.constantFrom(...notations), (times, wanted, notation) => {
    const sorted = times.sort(ascending)
    return firstAt(sorted.map(notation), new Date(wanted).toISOString()) === sorted.findIndex(at => at >= wanted)
  }))
  t.pass('for 100 lists each')
  t.end()
})

test('times are compared as exactly as they are written', (t) => {
  const firstAt = (values, wanted) => {
    const found = values.map((value, seq) => ({ json: JSON.stringify(value), seq }))
    const { compare, note } = comparisonOf('at', wanted, found[0], found.at(-1), (reason) => new Error(reason))
    return [found.findIndex(value => compare(value) >= 0), note]
  }
  const dates = ['2020-01-01T00:00:00.123456Z', '2020-01-01T00:00:00.1239Z', '2020-01-01T00:00:00.123999Z', '2020-01-01T01:00:00.1240+01:00']
  dates.forEach((date, i) => t.equal(firstAt(dates, date)[0], i, date))
  t.equal(firstAt(dates, '2020-01-01T00:00:00.12390000001Z')[0], 2)
  const wanted = '2020-01-01T00:00:00.123456789Z'
  t.deepEqual(firstAt([1577836800.123, 1577836800.124], wanted), [1, `\`at\` is in seconds since 1970, so ${wanted} means 1577836800.123456789`])
  t.deepEqual(firstAt([1577836800123.4, 1577836800124], wanted), [1, `\`at\` is in milliseconds since 1970, so ${wanted} means 1577836800123.456789`])
  t.deepEqual(firstAt([-1, 1577836800], '1969-12-31T23:59:59.5Z'), [1, '`at` is in seconds since 1970, so 1969-12-31T23:59:59.5Z means -0.5'])
  t.end()
})

test('values are found at the same paths as in parsed JSON', (t) => {
  const keys = fc.constantFrom('a', 'b', '0', '1', '__proto__')
  const json = fc.letrec(tie => ({
    value: fc.oneof({ maxDepth: 4 }, fc.constantFrom(null, true, 1.5, '{"a":[', '}'), fc.array(tie('value'), { maxLength: 3 }), fc.array(fc.tuple(keys, tie('value')), { maxLength: 3 }).map(object))
  })).value
  /** Written by hand, since keys may occur twice. */
  function object (entries) { return { entries } }
  function write (value) {
    if (Array.isArray(value)) return `[ ${value.map(write).join(' ,\n')} ]`
    return value?.entries ? `{${value.entries.map(([key, value]) => ` ${JSON.stringify(key)} : ${write(value)}`).join(',')}}` : JSON.stringify(value)
  }
  fc.assert(fc.property(json, fc.array(keys, { maxLength: 3 }), (value, path) => {
    const text = write(value)
    let expected = JSON.parse(text)
    for (const key of path) expected = expected !== null && typeof expected === 'object' && Object.hasOwn(expected, key) ? expected[key] : undefined
    const found = finder(text)(path)
    return JSON.stringify(found === undefined ? undefined : JSON.parse(found)) === JSON.stringify(expected)
  }), { numRuns: 500 })
  t.pass('for 500 values')
  t.end()
})

test('search says so if the records that it compares are not sorted', async (t) => {
  const name = testFolder(t)
  const values = Array.from({ length: 100 }, (_, i) => i)
  const search = async (file, value) => {
    const { code, stdout, stderr } = await flumelog(['search', file, '-p', 'at', '-v', String(value)], { cwd: name('.') })
    return [code, stdout, stderr.replace(/ at offset \d+/g, '')]
  }
  // the first and the last are sorted
  await makeSorted(name('some'), [0, 90, 80, 70, 60, 50, 40, 30, 20, 10, 99])
  t.deepEqual(await search('some', 45), [0, '{"at":90}\n', 'some: the log is not sorted by `at`: 90 comes before 80; so an earlier record may match, too\n'])
  await makeSorted(name('end'), [...values.map(i => 100 - i), 101])
  t.match((await search('end', 102))[2], /^end: the log is not sorted by `at`: \d+ comes before \d+; so there may be such a record\nflumelog: end: no record with `at` >= 102\n$/)
  await makeSorted(name('equal'), values.map(i => i >> 3))
  t.deepEqual(await search('equal', 5), [0, '{"at":5}\n', ''], 'equal ones are sorted')
})

test('search takes a path and a value as a filter, too', async (t) => {
  const name = testFolder(t)
  await makeSorted(name('log'), Array.from({ length: 100 }, (_, i) => i))
  const search = (...args) => flumelog(['search', 'log', ...args], { cwd: name('.') })
  t.deepEqual((await search('--where', 'at >= 42')).stdout, '{"at":42}\n')
  t.deepEqual((await search('-w', 'at=7.0')).stdout, '{"at":7}\n')
  const refused = [[['-w', 'at > 4'], 'must be path >= value'], [['-w', 'at == 4'], '`==` is no operator'], [['-w', 'at = 4', '-v', '5'], 'cannot be used with it'],
    [['-v', '5'], '--path is missing'], [['-p', 'at'], '--value is missing']]
  for (const [args, hint] of refused) {
    const { code, stderr } = await search(...args)
    t.deepEqual([code, stderr.includes(hint)], [2, true], stderr)
  }
})
