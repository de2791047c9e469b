'use strict'

// Checks README.md: its examples print what their comments say, and its tables list
// exactly the options, members and errors of the code.

const fs = require('fs')
const path = require('path')
const { spawnSync } = require('child_process')
const { isBuiltin } = require('module')
const tape = require('tape')
const RAM = require('random-access-memory')
const FlumeLog = require('../..')
const { settingsOf, DEFAULT_BLOCK_SIZE } = require('../../lib/options')
const { testFolder } = require('../helpers/folder')
const { tableUnder } = require('../helpers/tables')

const ROOT = path.join(__dirname, '..', '..')
const NAME = require('../../package.json').name
const read = (name) => fs.readFileSync(path.join(ROOT, name), 'utf8')
const readme = read('README.md')

tape('the examples in README.md print what their comments say', (t) => {
  const examples = [...readme.matchAll(/^```js\n([^]*?)^```$/gm)].map(match => match[1])
  t.ok(examples.length >= 2, `there are ${examples.length}`)
  for (const example of examples) {
    const { status, stdout, stderr } = run(example, testFolder(t))
    t.equal(status, 0, stderr || 'it ends well')
    const said = [...example.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].flatMap(match => match[1].split(', '))
    t.ok(said.length > 0, 'it says what is printed')
    t.deepEqual(stdout.trim().split('\n'), said, said.join('; '))
  }
  t.end()
})

tape('all links in README.md to files of the project work', (t) => {
  for (const [, target] of readme.matchAll(/\]\((?!http)([^)#]+)/g)) t.ok(fs.existsSync(path.join(ROOT, target)), target)
  t.end()
})

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
  const given = new Set(read('lib/errors.js').match(/(?<=createError\(')flumelog:[a-z-]+/g))
  t.deepEqual(names(rows), [...given].sort())
  const others = fs.readdirSync(path.join(ROOT, 'lib'), { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.js') && name !== 'errors.js')
    .filter(name => /createError|code: 'flumelog|\.code = /.test(read(`lib/${name}`)))
  t.deepEqual(others, [], 'no error is made outside of lib/errors.js')
  t.end()
})

/** Runs an example as a program with the package, and the other packages it requires, installed. */
function run (example, file) {
  fs.mkdirSync(file('node_modules'))
  for (const name of new Set([...example.matchAll(/(?:require\(|from )'([\w-]+)/g)].map(match => match[1]))) {
    const target = name === NAME ? ROOT : path.join(ROOT, 'node_modules', name)
    if (!isBuiltin(name)) fs.symlinkSync(target, file(`node_modules/${name}`))
  }
  fs.writeFileSync(file('example.js'), example)
  return spawnSync(process.execPath, ['example.js'], { cwd: file('.'), encoding: 'utf8' })
}

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
