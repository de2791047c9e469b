'use strict'

// The command line: help, and usage errors.

const fs = require('fs')
const test = require('tape')
const { testFolder } = require('../helpers/folder')
const { flumelog, refuses, inTurns } = require('../helpers/command-line')
const { makeLog } = require('../helpers/logs')
const { version } = require('../../package.json')

const COMMANDS = ['dump', 'get', 'search', 'append', 'stat', 'verify', 'repair', 'serve']

test('--help lists all commands, and the help of each command has examples', async (t) => {
  const { code, stdout, stderr } = await flumelog(['--help'])
  t.equal(code, 0)
  t.equal(stderr, '')
  for (const command of COMMANDS) t.match(stdout, new RegExp(`^  ${command} `, 'm'), command)

  await inTurns(COMMANDS, async (command) => {
    const { code, stdout } = await flumelog([command, '--help'])
    t.equal(code, 0, command)
    t.match(stdout, new RegExp(`^Usage: flumelog ${command} `), 'usage')
    t.match(stdout, new RegExp(`^Examples:\n(.*\n)*?.*flumelog ${command} `, 'm'), 'an example')
    t.ok(stdout.split('\n').every(line => line.length <= 80), 'no line is longer than 80 columns')
  })
})

test('--version prints the version of the package', async (t) => {
  const { code, stdout } = await flumelog(['--version'])
  t.equal(code, 0)
  t.equal(stdout, `${version}\n`)
})

test('without a command, the help is printed to stderr, and the exit code is 2', async (t) => {
  const { code, stdout, stderr } = await flumelog([])
  t.equal(code, 2)
  t.equal(stdout, '')
  t.match(stderr, /^Usage: flumelog /)
})

test('wrong usage is reported in one line that refers to the help, with exit code 2', async (t) => {
  const name = testFolder(t)
  const file = name('log')
  await makeLog(file, ['a', 'b'])
  const cases = [
    [['dmp', file], /unknown command 'dmp' \(Did you mean dump\?\); see flumelog --help$/m],
    [['dump'], /missing required argument 'file'; see flumelog dump --help$/m],
    [['dump', file, file], /too many arguments/],
    [['dump', file, '--foo'], /unknown option '--foo'; see flumelog dump --help$/m],
    [['dump', file, '--encoding', 'latin1'], /'latin1' is invalid. Allowed choices are utf8, hex, base64, raw, json; see/],
    [['dump', file, '--seqs', '--encoding', 'raw'], /'--seqs' cannot be used with '--encoding raw'/],
    ...[['--gt', 'x'], ['--gte', '1.5'], ['--lt', ''], ['--lte', '1e3'], ['--gte', '99999999999999999999']].map(([bound, value]) =>
      [['dump', file, bound, value], new RegExp(`'${bound} <offset>' argument '${value}' is invalid: it must be an integer; see`)]),
    ...['-1', '1.5'].map(value =>
      [['dump', file, '--limit', value], /'-n, --limit <count>' argument '.*' is invalid: it must be a non-negative integer; see/]),
    [['get', file], /missing required argument 'seq'/],
    [['get', file, 'x'], /value 'x' is invalid for argument 'seq': it must be a non-negative integer; see flumelog get --help/],
    [['get', file, '1', '--seqs', '-e', 'raw'], /cannot be used/],
    [['search', file, '--value', '1'], /required option '-p, --path <keys>' not specified; see flumelog search --help/],
    [['search', file, '--path', 'a'], /required option '-v, --value <value>' not specified/],
    [['search', file, '--path', 'a..b', '--value', '1'], /'a..b' is invalid: it must be keys separated by dots/],
    [['append', file, '--block-size', '31'], /'31' is invalid: it must be an integer from 32 to 65536; see/],
    [['append', file, '--block-size', '65537'], /'65537' is invalid: it must be an integer from 32 to 65536; see/],
    [['append', file, '--sync', 'sometimes'], /'sometimes' is invalid. Allowed choices are always, interval, never/]
  ]
  const before = fs.readFileSync(file)
  await inTurns(cases, async ([args, pattern]) => {
    refuses(t, await flumelog(args), 2, pattern, args.map(arg => arg === file ? 'FILE' : arg).join(' '))
  })
  t.ok(fs.readFileSync(file).equals(before), 'the log is as it was')
})
