'use strict'

// The command line: help, and usage errors.

const fs = require('fs')
const test = require('tape')
const { testFolder } = require('../helpers/folder')
const { inTurns } = require('../helpers/command-line')
const { makeLog } = require('../helpers/logs')
const { flumelog } = require('../helpers/warm-flumelog')
const { version } = require('../../package.json')

const COMMANDS = ['dump', 'get', 'search', 'append', 'stat', 'verify', 'repair', 'serve', 'del', 'trim', 'compact', 'cursors', 'import', 'export', 'backup', 'restore', 'mirror', 'pull', 'completion']

test('--help lists all commands, and the help of each command has examples', async (t) => {
  const { code, stdout, stderr } = await flumelog(['--help'])
  t.equal(code, 0)
  t.equal(stderr, '')
  for (const command of COMMANDS) t.match(stdout, new RegExp(`^  ${command} `, 'm'), command)
  t.match(stdout, /^ {2}flumelog view my\.log +look into it in a browser$/m, 'an example of a command whose package is installed')

  await inTurns(COMMANDS, async (command) => {
    const { code, stdout } = await flumelog([command, '--help'], { columns: 60 })
    t.equal(code, 0, command)
    t.match(stdout, new RegExp(`^Usage: flumelog ${command} `), 'usage')
    t.match(stdout, new RegExp(`^Examples:\n(.*\n)*?.*flumelog ${command} `, 'm'), 'an example')
    t.ok(stdout.split('\n').every(line => line.length <= 60), 'no line is longer than the terminal is wide')
  })
})

test('the help fits a narrow terminal', async (t) => {
  for (const columns of [40, 51, 52]) {
    const { stdout } = await flumelog(['dump', '--help'], { columns })
    const [, options] = stdout.split(/^(?:Options|Examples):$/m)
    t.ok(options.split('\n').every(line => line.length <= columns), `${columns} columns`)
  }
})

test('--version prints the version of the package', async (t) => {
  const { code, stdout } = await flumelog(['--version'])
  t.equal(code, 0)
  t.equal(stdout, `${version}\n`)
})

test('help of help, and of everything, is the list of commands', async (t) => {
  for (const args of [['help'], ['help', 'help'], ['--help', 'help']]) {
    const { code, stdout } = await flumelog(args)
    t.equal(code, 0, args.join(' '))
    t.match(stdout, /^Usage: flumelog \[options\] \[command\]\n/)
  }
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
    [['dmp', file], "unknown command 'dmp' (did you mean dump?); see flumelog --help"],
    [['tail', file], "unknown command 'tail' (did you mean dump --tail 10?); see flumelog --help"],
    [['rm', file], "unknown command 'rm' (did you mean del?); see flumelog --help"],
    [['grep', file], "unknown command 'grep' (did you mean dump --where or view?); see flumelog --help"],
    [['export', file, '-', '--to', 'ndjson'], "<target> must be a file: standard input is read by `append`, and standard output written by `dump`, not '-'; see flumelog export --help"],
    [['help', 'dmp'], "unknown command 'dmp'; see flumelog --help"],
    [['help', '--foo'], "unknown option '--foo'; see flumelog --help"],
    [['help', 'dump', 'get'], 'too many arguments: expected 1, got 2; see flumelog --help'],
    [['--help', 'dmp'], "unknown command 'dmp'; see flumelog --help"],
    [['append', file, '--shared', '--no-shared'], '--shared cannot be used with --no-shared; see flumelog append --help'],
    [['append', ''], "<file> must be the name of a file, not ''; see flumelog append --help"],
    ...['append', 'serve', 'repair'].map(command => [[command, 'caf\ufffd'], `<file> must be a name in UTF-8 without U+FFFD (rename the file), not 'caf\ufffd'; see flumelog ${command} --help`]),
    [['dump'], '<file> is missing; see flumelog dump --help'],
    [['dump', file, file], 'too many arguments: expected 1, got 2; see flumelog dump --help'],
    [['dump', file, '--foo'], "unknown option '--foo'; see flumelog dump --help"],
    [['dump', file, '--revers'], "unknown option '--revers' (did you mean --reverse?); see flumelog dump --help"],
    [['dump', file, '--gt'], '--gt needs a value; see flumelog dump --help'],
    [['dump', file, '--encoding', 'latin1'], "--encoding must be utf8, hex, base64, raw or json, not 'latin1'; see flumelog dump --help"],
    [['dump', file, '--format', 'xml'], "--format must be text, ndjson or csv, not 'xml'; see flumelog dump --help"],
    [['dump', file, '--format', 'csv'], '--format csv needs --fields, such as --fields at,value.author; see flumelog dump --help'],
    [['dump', file, '--format', 'csv', '--fields', 'a,,b'], "--fields must be paths separated by commas, such as at,value.author, not 'a,,b'; see flumelog dump --help"],
    [['dump', file, '--fields', 'a'], '--fields needs --format csv; see flumelog dump --help'],
    [['dump', file, '--format', 'ndjson', '-e', 'hex'], '--encoding cannot be used with --format ndjson; see flumelog dump --help'],
    [['dump', file, '--seqs', '--encoding', 'raw'], '--seqs cannot be used with --encoding raw; see flumelog dump --help'],
    [['dump', file, '--tail', '3', '--reverse'], '--tail cannot be used with --reverse; --reverse --limit prints the last records, newest first; see flumelog dump --help'],
    [['dump', file, '--live', '--reverse'], '--live cannot be used with --reverse: new records are printed as they come; see flumelog dump --help'],
    [['dump', file, '--new', '--reverse'], '--new cannot be used with --reverse: new records are printed as they come; see flumelog dump --help'],
    [['dump', file, '--tail', '3', '--new'], '--new cannot be used with --tail; --tail prints older records; see flumelog dump --help'],
    ...[['--gt', 'x'], ['--gte', '1.5'], ['--lt', ''], ['--lte', '1e3'], ['--gte', '99999999999999999999']].map(([bound, value]) =>
      [['dump', file, bound, value], `${bound} must be an integer, start or end, not '${value}'; see flumelog dump --help`]),
    ...['-1', '1.5'].map(value =>
      [['dump', file, '--limit', value], `--limit must be an integer, 1 or more, not '${value}'; see flumelog dump --help`]),
    [['dump', file, '--limit', '0'], "--limit must be an integer, 1 or more (without --limit, all are printed), not '0'; see flumelog dump --help"],
    ...['--keep-bytes', '--keep-records'].map(keep =>
      [['trim', file, keep, '0'], `${keep} must be an integer, 1 or more (\`--lt end\` trims all that can be trimmed), not '0'; see flumelog trim --help`]),
    [['trim', file, '--keep-bytes', '1.5'], "--keep-bytes must be an integer, 1 or more, not '1.5'; see flumelog trim --help"],
    [['dump', file, '-t', "it's"], "--tail must be an integer, 0 or more, not 'it's'; see flumelog dump --help"],
    [['dump', file, '--where', ' '], "--where must be a text, or a comparison such as value.author = @bob, not ' '; see flumelog dump --help"],
    [['dump', file, '--where', 'a..b = 1'], "--where is invalid: the path must be keys separated by dots, such as value.timestamp; it is a..b, not 'a..b = 1'; see flumelog dump --help"],
    [['dump', file, '--where', 'a', '--tail', '3'], '--tail cannot be used with --where; --reverse --limit prints the last records that match, newest first; see flumelog dump --help'],
    [['get', file], '<seq> is missing; see flumelog get --help'],
    [['get', file, 'x'], "<seq> must be an offset (0 or more), start or end, not 'x'; see flumelog get --help"],
    [['get', file, '1', '--seqs', '-e', 'raw'], '--seqs cannot be used with --encoding raw; see flumelog get --help'],
    [['del', file], 'give at least one offset, or a range by --gt, --gte, --lt or --lte; see flumelog del --help'],
    [['del', file, '0', 'x'], "<seqs> must be an offset (0 or more), start or end, not 'x'; see flumelog del --help"],
    [['del', file, '0'], '--yes is required: del cannot ask, since standard input or stderr is not a terminal; see flumelog del --help'],
    [['cursors', file, '--delete', 'a.b'], "--delete must be the name of a cursor: 1 to 64 letters, digits, - or _, not 'a.b'; see flumelog cursors --help"],
    [['search', file, '--value', '1'], '--path is missing; see flumelog search --help'],
    [['search', file, '--path', 'a'], '--value is missing; see flumelog search --help'],
    [['search', file, '--path', 'a..b', '--value', '1'], "--path must be keys separated by dots, such as value.timestamp, not 'a..b'; see flumelog search --help"],
    [['append', file, '--block-size', '31'], "--block-size must be an integer from 32 to 65536, not '31'; see flumelog append --help"],
    [['append', file, '--block-size', '65537'], "--block-size must be an integer from 32 to 65536, not '65537'; see flumelog append --help"],
    [['append', file, '--sync', 'some\ntimes'], "--sync must be always, interval or never, not 'some times'; see flumelog append --help"],
    [['import', file], '<new> is missing; see flumelog import --help'],
    [['import', file, 'new', '--from', 'xml'], "--from must be flumelog-offset, flumelog-offset-32, flumelog-offset-48, flumelog-offset-53, flumelog-aligned-offset, async-append-only-log, ndjson or csv, not 'xml'; see flumelog import --help"],
    [['export', file], '--to is missing; see flumelog export --help'],
    [['export', file, '--to', 'csv'], '--to csv needs --fields, such as --fields at,value.author; see flumelog export --help'],
    [['export', file, '--to', 'ndjson', '--fields', 'a'], '--fields needs --to csv; see flumelog export --help'],
    [['completion', 'tcsh'], "<shell> must be bash, zsh or fish, not 'tcsh'; see flumelog completion --help"]
  ]
  const before = fs.readFileSync(file)
  await inTurns(cases, async ([args, message]) => {
    const { code, stdout, stderr } = await flumelog(args)
    t.deepEqual({ code, stdout, stderr }, { code: 2, stdout: '', stderr: `flumelog: ${message}\n` }, args.map(arg => arg === file ? 'FILE' : arg).join(' '))
  })
  t.ok(fs.readFileSync(file).equals(before), 'the log is as it was')
})
