'use strict'

// docs/api.md has a heading for each option, member and error code, and no others. Its examples are run by pages.js.

const fs = require('fs')
const path = require('path')
const tape = require('tape')
const RAM = require('random-access-memory')
const FlumeLog = require('../..')
const { settingsOf, DEFAULT_BLOCK_SIZE } = require('../../lib/options')

const ROOT = path.join(__dirname, '..', '..')
const read = (name) => fs.readFileSync(path.join(ROOT, name), 'utf8')
const page = read('docs/api.md')

tape('the reference has every option with its default', (t) => {
  const entries = entriesUnder('Options')
  t.deepEqual(namesOf(entries), documentedIn('lib/options.js', 'Options'), 'the same as in the code')
  const defaults = { ...settingsOf({}), blockSize: DEFAULT_BLOCK_SIZE }
  for (const { heading, text } of entries) {
    const [name] = codesIn(heading)
    const [, value] = /^Default: (.*)$/m.exec(text) ?? []
    t.notEqual(value, undefined, `${name} has a default`)
    if (typeof defaults[name] === 'object' || defaults[name] === undefined) continue
    t.equal(valueOf(value), defaults[name], `${name}: ${value}`)
  }
  for (const name of Object.keys(defaults)) t.ok(namesOf(entries).includes(name), name)
  t.end()
})

tape('the reference has every member of a log', (t) => {
  const entries = entriesUnder('Members')
  const log = FlumeLog(new RAM())
  t.deepEqual(namesOf(entries), Object.keys(log).sort())
  const { text } = entries.find(({ heading }) => heading === '`stats()`')
  t.deepEqual(codesIn(text).sort(), Object.keys(log.stats()).sort(), 'and each count of stats()')
  t.end()
})

tape('the reference has every option of streams', (t) => {
  const range = documentedIn('lib/read/options.js', 'RangeOptions')
  t.deepEqual(namesOf(entriesUnder('Options of streams')), [...range, ...documentedIn('lib/read/options.js', 'StreamOnlyOptions')].sort())
  const { text } = entriesUnder('Members').find(({ heading }) => heading.startsWith('`scan('))
  const known = [...range, ...documentedIn('lib/read/options.js', 'ScanOnlyOptions')].sort()
  t.deepEqual(codesIn(text.split('The range: ')[1]).filter(code => code !== 'onRecord').sort(), known, 'and with the member those of a scan')
  t.end()
})

tape('the reference has every error code', (t) => {
  // a package may add one
  const sources = ['lib/errors.js', ...fs.readdirSync(path.join(ROOT, 'packages')).map(name => `packages/${name}/lib/errors.js`)]
  const given = new Set(sources.flatMap(file => read(file).match(/(?<=createError\(')flumelog:[a-z-]+/g) ?? []))
  t.deepEqual(namesOf(entriesUnder('Error codes')), [...given].sort())
  const others = fs.readdirSync(path.join(ROOT, 'lib'), { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.js') && name !== 'errors.js')
    .filter(name => /createError|code: 'flumelog|\.code = /.test(read(`lib/${name}`)))
  t.deepEqual(others, [], 'no error is made outside of lib/errors.js')
  t.end()
})

/** What is under each heading of a section. @param {string} section @returns {Array<{ heading: string, text: string }>} */
function entriesUnder (section) {
  const [, after] = page.split(`\n## ${section}\n`)
  const [own] = after.split('\n## ')
  return own.split('\n### ').slice(1).map(entry => ({ heading: entry.slice(0, entry.indexOf('\n')), text: entry.slice(entry.indexOf('\n')) }))
}

/** The contents of all `code` spans of a text; of calls, only the name. */
const codesIn = (cell) => [...cell.matchAll(/`([\w:-]+)[^`]*`/g)].map(match => match[1])

const namesOf = (entries) => entries.flatMap(({ heading }) => codesIn(heading)).sort()

/** The properties of a JSDoc type. */
function documentedIn (file, type) {
  const comment = read(file).match(/\/\*\*(?:(?!\*\/)[^])*\*\//g).find(comment => comment.includes(`@typedef {object} ${type}`))
  const from = comment.slice(comment.indexOf(`@typedef {object} ${type}`) + 1)
  const [own] = from.split('@typedef')
  return [...own.matchAll(/@property \{.*\} \[(\w+)\]/g)].map(match => match[1]).sort()
}

/** Parses a default. */
function valueOf (text) {
  const [, number, unit] = /^(\d+)( MiB)?$/.exec(text) ?? []
  if (number !== undefined) return Number(number) * (unit === undefined ? 1 : 1024 * 1024)
  if (text.startsWith('`')) return text.slice(2, -2)
  return { true: true, false: false }[text]
}
