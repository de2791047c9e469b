'use strict'

// docs/api.md has a heading for each option, member and error code, and no others, with the types and defaults that the code has. Its
// examples are run by pages.js.

const fs = require('fs')
const path = require('path')
const tape = require('tape')
const FlumeLog = require('../..')
const maintenance = require('../../maintenance')
const withPromises = require('../../promises')
const { settingsOf, DEFAULT_BLOCK_SIZE } = require('../../lib/options')
const { newFile } = require('../helpers/folder')
const { tableUnder } = require('../helpers/tables')

const ROOT = path.join(__dirname, '..', '..')
const read = (name) => fs.readFileSync(path.join(ROOT, name), 'utf8')
const page = read('docs/api.md')

tape('the reference has every option with its type and its default', (t) => {
  const entries = entriesUnder('Options')
  const documented = propertiesOf('lib/options.js', 'Options')
  t.deepEqual(namesOf(entries), Object.keys(documented).sort(), 'the same as in the types')
  compareTypes(t, entries, documented)
  const defaults = { ...settingsOf({}), blockSize: DEFAULT_BLOCK_SIZE }
  for (const { heading, text } of entries) {
    const [name] = codesIn(heading)
    const value = defaultIn(text)
    t.notEqual(value, undefined, `${name} has a default`)
    if (typeof defaults[name] === 'object' || defaults[name] === undefined) continue
    t.equal(valueOf(value), defaults[name], `${name}: ${value}`)
  }
  t.deepEqual(Object.keys(defaults).filter(name => !namesOf(entries).includes(name)), [], 'and every setting of the code')
  t.end()
})

tape('the page of the entries for packages has each of their exports, and each file function', (t) => {
  const sections = read('docs/blocks.md').split(/^## /m)
  const named = (entry) => new Set(sections.find(section => section.startsWith(`\`/${entry}\``)).match(/[\w$]+/g))
  for (const entry of ['blocks', 'json', 'parts']) {
    const exported = require(`../../${entry}`)
    const names = [...Object.keys(exported), ...Object.keys(exported.files ?? {})]
    t.deepEqual(names.filter(name => !named(entry).has(name)), [], entry)
  }
  t.end()
})

tape('the reference has every member of a log', (t) => {
  const entries = entriesUnder('Members')
  const log = FlumeLog(newFile())
  t.deepEqual(namesOf(entries), Object.keys(log).sort())
  t.deepEqual(Object.keys(propertiesOf('lib/types.js', 'FlumeLog')).sort(), Object.keys(log).sort(), 'and so have the types')
  for (const [member, file, types] of [
    ['append', 'lib/types.js', ['AppendOptions']],
    ['sink', 'lib/types.js', ['SinkOptions', 'Stored']],
    ['onReady', 'lib/types.js', ['Cut']],
    ['cursors', 'lib/types.js', ['CursorInfo']],
    ['del', 'lib/space/types.js', ['DeletionRange']],
    ['trim', 'lib/space/types.js', ['TrimOptions']],
    ['compact', 'lib/space/types.js', ['CompactOptions', 'CompactProgress', 'Compacted']],
    ['onCompact', 'lib/space/types.js', ['CompactionMap']],
    ['backup', 'lib/backup/types.js', ['BackupOnlyOptions', 'BackedUp']]
  ]) mentionsAll(t, entries, member, file, types)
  const { text } = entries.find(({ heading }) => heading === '`stats()`')
  const stats = propertiesOf('lib/types.js', 'Stats')
  t.deepEqual(Object.keys(stats).sort(), Object.keys(log.stats()).sort(), 'the types have each count of stats()')
  t.deepEqual(codesIn(text).sort(), Object.keys(stats).sort(), 'and so has the page')
  mentionsAll(t, entriesUnder('Options'), 'retain', 'lib/space/retain-options.js', ['RetainOptions'])
  t.end()
})

tape('the reference has every member with promises', (t) => {
  const { FlumeLog: PromiseLog, ...functions } = withPromises
  const log = withPromises.wrap(FlumeLog(newFile()))
  const members = new Set([...Object.getOwnPropertyNames(PromiseLog.prototype), ...Object.keys(log)].filter(name => name !== 'constructor'))
  const own = namesOf(entriesUnder('Members with promises'))
  const all = new Set([...own, ...namesOf(entriesUnder('Members'))])
  t.deepEqual([...members].filter(name => !all.has(name)), [])
  t.deepEqual(own.filter(name => !members.has(name) && !(name in functions)), [], 'and no others')
  t.deepEqual(Object.keys(functions).filter(name => !own.includes(name)), [], 'and what the entry exports')
  t.end()
})

tape('the reference has every stream option with its type and its default', (t) => {
  const range = propertiesOf('lib/read/options.js', 'RangeOptions')
  const documented = { ...range, ...propertiesOf('lib/read/options.js', 'StreamOnlyOptions') }
  const entries = entriesUnder('Stream options')
  t.deepEqual(namesOf(entries), Object.keys(documented).sort())
  compareTypes(t, entries, documented)
  for (const { heading, text } of entries) {
    for (const name of codesIn(heading)) {
      const [, expected = 'none'] = /default (\w+)/.exec(documented[name].description) ?? []
      t.equal(defaultIn(text), expected, `${name}: ${expected}`)
    }
  }
  const { text } = entriesUnder('Members').find(({ heading }) => heading.startsWith('`scan('))
  const known = Object.keys({ ...range, ...propertiesOf('lib/read/options.js', 'ScanOnlyOptions') }).sort()
  t.deepEqual(codesIn(text.split('The range: ')[1]).filter(code => code !== 'onRecord').sort(), known, 'and with the member those of a scan')
  t.end()
})

tape('the reference has every member of a cursor, and every function of maintenance', (t) => {
  const entries = entriesUnder('Members of a cursor')
  t.deepEqual(namesOf(entries), Object.keys(propertiesOf('lib/types.js', 'Cursor')).sort())
  mentionsAll(t, entries, 'commit', 'lib/types.js', ['CommitOptions'])
  const { text } = entries.find(({ heading }) => heading.includes('`stream('))
  const taken = require('../../lib/cursors/cursor-options').CURSOR_STREAM_NAMES
  t.deepEqual(taken.filter(name => !codesIn(text).includes(name)), [])

  const functions = entriesUnder('Maintenance')
  t.deepEqual(namesOf(functions), Object.keys(maintenance).sort())
  for (const [name, file, types] of [
    ['repair', 'lib/maintenance/repair.js', ['RepairOnlyOptions', 'Repaired']],
    ['restore', 'lib/backup/restore.js', ['RestoreOnlyOptions', 'Restored']],
    ['openOffsetMap', 'lib/maintenance/open-offset-map.js', ['OffsetMapMembers']]
  ]) mentionsAll(t, functions, name, file, types)
  t.end()
})

tape('the reference, and the guide for operators, have every error code', (t) => {
  // a package may add one
  const sources = ['lib/errors.js', ...fs.readdirSync(path.join(ROOT, 'packages')).map(name => `packages/${name}/lib/errors.js`)]
  const given = [...new Set(sources.flatMap(file => read(file).match(/(?<=createError\(')flumelog:[a-z-]+/g) ?? []))].sort()
  const [, union] = /@typedef \{('flumelog:[^}]*)\} ErrorCode/.exec(read('lib/errors.js'))
  t.deepEqual(union.match(/flumelog:[a-z-]+/g).sort(), given, 'the types')
  t.deepEqual(namesOf(entriesUnder('Error codes')), given, 'the reference')
  const rows = tableUnder(read('docs/guides/operating.md'), '## Error codes').slice(1)
  t.deepEqual(rows.flatMap(([codes]) => codesIn(codes)).filter(code => code.startsWith('flumelog:')).sort(), given, 'the guide')
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
const codesIn = (text) => [...text.replace(/^```[^]*?^```$/gm, '').matchAll(/`([\w:-]+)[^`]*`/g)].map(match => match[1])

const namesOf = (entries) => entries.flatMap(({ heading }) => codesIn(heading)).sort()

/** The text of a default. */
const defaultIn = (text) => /^Default: (.*)$/m.exec(text)?.[1]

/**
 * The properties of a JSDoc type.
 * @param {string} file
 * @param {string} type
 * @returns {Record<string, { type: string, description: string }>}
 */
function propertiesOf (file, type) {
  const isIt = new RegExp(`@typedef \\{object\\} ${type}\\b`)
  const comment = read(file).match(/\/\*\*(?:(?!\*\/)[^])*\*\//g).find(comment => isIt.test(comment))
  const [own] = comment.slice(comment.search(isIt) + 1).split('@typedef')
  const properties = own.split('@property ').slice(1).map(text => /^\{(.*)\} \[?(\w+)\]?([^]*)$/.exec(text.replace(/\n \*( {3})?/g, ' ')))
  if (properties.some(match => match[3].trim() === '')) throw new Error(`a property of ${type} has no description, which editors would show`)
  return Object.fromEntries(properties.map(([, type, name, description]) => [name, { type: type.replace(/import\('[^']*'\)\./g, ''), description }]))
}

/** The first thing under the heading of an option is its type. */
function compareTypes (t, entries, documented) {
  for (const { heading, text } of entries) {
    for (const name of codesIn(heading)) t.equal(/^\s*`([^`]*)`/.exec(text)?.[1], documented[name].type, `the type of ${name}`)
  }
}

/** An entry names all properties of the types of its options and results. */
function mentionsAll (t, entries, member, file, types) {
  const { heading, text } = entries.find(({ heading }) => codesIn(heading).includes(member))
  const names = types.flatMap(type => Object.keys(propertiesOf(file, type)))
  const words = [...`${heading} ${text}`.matchAll(/`([^`]*)`/g)].flatMap(([, code]) => code.match(/\w+/g) ?? [])
  t.deepEqual(names.filter(name => !words.includes(name)), [], `${member}: ${types.join(', ')}`)
}

/** Parses a default. */
function valueOf (text) {
  const [, number, unit] = /^(\d+)( MiB)?$/.exec(text) ?? []
  if (number !== undefined) return Number(number) * (unit === undefined ? 1 : 1024 * 1024)
  if (text.startsWith('`')) return text.slice(2, -2)
  return { true: true, false: false }[text]
}
