'use strict'

// The tables in README.md list exactly the options, members and errors of the code. Its examples
// are run by pages.js.

const fs = require('fs')
const path = require('path')
const tape = require('tape')
const RAM = require('random-access-memory')
const FlumeLog = require('../..')
const { settingsOf, DEFAULT_BLOCK_SIZE } = require('../../lib/options')
const { tableUnder } = require('../helpers/tables')

const ROOT = path.join(__dirname, '..', '..')
const read = (name) => fs.readFileSync(path.join(ROOT, name), 'utf8')
const readme = read('README.md')

tape('the table of options lists every option with its default', (t) => {
  const rows = tableUnder(readme, '## Options').slice(1)
  t.deepEqual(names(rows), documentedIn('lib/options.js', 'Options'), 'the same as in the code')
  const defaults = { ...settingsOf({}), blockSize: DEFAULT_BLOCK_SIZE }
  for (const [option, , value] of rows) {
    const [name] = codesIn(option)
    if (typeof defaults[name] === 'object' || defaults[name] === undefined) continue
    t.equal(valueOf(value), defaults[name], `${name}: ${value}`)
  }
  for (const name of Object.keys(defaults)) t.ok(names(rows).includes(name), name)
  t.end()
})

tape('the table of members lists every member of a log', (t) => {
  const rows = tableUnder(readme, '## Members').slice(1)
  const log = FlumeLog(new RAM())
  t.deepEqual(names(rows), Object.keys(log).sort())
  const [[, stats]] = rows.filter(([member]) => member === '`stats()`')
  t.deepEqual(codesIn(stats).sort(), Object.keys(log.stats()).sort(), 'and each count of stats()')
  t.end()
})

tape('the table of stream options lists every option', (t) => {
  const rows = tableUnder(readme, 'Options of `stream`, all of which may be combined:').slice(1)
  const range = documentedIn('lib/read/options.js', 'RangeOptions')
  t.deepEqual(names(rows), [...range, ...documentedIn('lib/read/options.js', 'StreamOnlyOptions')].sort())
  const [[, scan]] = tableUnder(readme, '## Members').filter(([member]) => member.startsWith('`scan('))
  const known = [...range, ...documentedIn('lib/read/options.js', 'ScanOnlyOptions')].sort()
  t.deepEqual(codesIn(scan.split('The range: ')[1]).filter(code => code !== 'onRecord').sort(), known, 'and the table of members those of a scan')
  t.end()
})

tape('the table of errors lists every error code', (t) => {
  const rows = tableUnder(readme, '## Errors').slice(1)
  // a package may add one
  const sources = ['lib/errors.js', ...fs.readdirSync(path.join(ROOT, 'packages')).map(name => `packages/${name}/lib/errors.js`)]
  const given = new Set(sources.flatMap(file => read(file).match(/(?<=createError\(')flumelog:[a-z-]+/g) ?? []))
  t.deepEqual(names(rows), [...given].sort())
  const others = fs.readdirSync(path.join(ROOT, 'lib'), { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.js') && name !== 'errors.js')
    .filter(name => /createError|code: 'flumelog|\.code = /.test(read(`lib/${name}`)))
  t.deepEqual(others, [], 'no error is made outside of lib/errors.js')
  t.end()
})

/** The contents of all `code` spans in a cell; of calls, only the name. */
const codesIn = (cell) => [...cell.matchAll(/`([\w:-]+)[^`]*`/g)].map(match => match[1])

const names = (rows) => rows.flatMap(([first]) => codesIn(first)).sort()

/** The properties of a JSDoc type. */
function documentedIn (file, type) {
  const comment = read(file).match(/\/\*\*(?:(?!\*\/)[^])*\*\//g).find(comment => comment.includes(`@typedef {object} ${type}`))
  const from = comment.slice(comment.indexOf(`@typedef {object} ${type}`) + 1)
  const [own] = from.split('@typedef')
  return [...own.matchAll(/@property \{.*\} \[(\w+)\]/g)].map(match => match[1]).sort()
}

/** Parses a default in a table. */
function valueOf (text) {
  const [, number, unit] = /^(\d+)( MiB)?$/.exec(text) ?? []
  if (number !== undefined) return Number(number) * (unit === undefined ? 1 : 1024 * 1024)
  if (text.startsWith('`')) return text.slice(2, -2)
  return { true: true, false: false }[text]
}
