'use strict'

// flumelog dump --where: prints the records that a filter lets pass.

const test = require('tape')
const fc = require('fast-check')
const { testFolder } = require('../helpers/folder')
const { start } = require('../helpers/command-line')
const { makeLog } = require('../helpers/logs')
const { flumelog } = require('../helpers/warm-flumelog')

const records = Array.from({ length: 500 }, (_, at) => ({ at, author: `@${at % 7}`, text: at % 50 === 0 ? 'Größer' : 'small' }))
const lines = (some) => some.map(record => `${JSON.stringify(record)}\n`).join('')

test('dump --where prints the records that contain a text, or whose value compares', async (t) => {
  const file = testFolder(t)('log')
  await makeLog(file, records.map(record => JSON.stringify(record)), { blockSize: 1024 })
  const cases = [
    [['author = @3'], ({ author }) => author === '@3'],
    [['at>=490'], ({ at }) => at >= 490],
    [['GRÖSSER'], () => false],
    [['größer'], ({ text }) => text === 'Größer'],
    [['"\\"at\\":12"'], ({ at }) => String(at).startsWith('12')],
    [['author != @3', '--lt', '400'], ({ author, at }) => author !== '@3' && at < 8],
    [['author = @3', '--limit', '5'], ({ author, at }) => author === '@3' && at < 35]
  ]
  for (const [[filter, ...args], isChosen] of cases) {
    const { code, stdout, stderr } = await flumelog(['dump', file, '--where', filter, ...args])
    const chosen = args[0] === '--lt' ? stdout.split('\n').slice(0, -1).map(line => JSON.parse(line)) : records.filter(isChosen)
    t.deepEqual({ code, stderr }, { code: 0, stderr: chosen.length > 0 ? '' : `${file}: no record matches --where\n` }, filter)
    t.equal(stdout, lines(chosen), `${chosen.length} records`)
    if (args[0] === '--lt') t.ok(chosen.length > 0 && chosen.every(({ author }) => author !== '@3'))
  }
  const quoted = await flumelog(['dump', file, '--where', '"author = @3"'])
  t.equal(quoted.stdout, '', 'in quotes, a comparison is text')
  const last = await flumelog(['dump', file, '--where', 'author = @3', '--reverse', '--limit', '2'])
  t.equal(last.stdout, lines([records[493], records[486]]))
  const { stdout } = await flumelog(['dump', file, '-w', 'at = 7', '--format', 'csv', '--fields', 'author'])
  t.equal(stdout, 'author\n@0\n')
})

test('dump --where says so if no record has a value at the path', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), ['{"at":1}', 'no JSON, but at = 1', Buffer.from([0xff, 0xfe])])
  const dump = (filter) => flumelog(['dump', 'log', '--where', filter], { cwd: name('.') })
  const { code, stdout, stderr } = await dump('time > 5')
  t.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '', stderr: 'log: no record that was looked at has a value at `time`; check --where\n' })
  t.deepEqual([(await dump('at > 5')).stderr, (await dump('at > 0')).stdout], ['log: no record matches --where\n', '{"at":1}\n'])
  t.equal((await dump('no json')).stdout, 'no JSON, but at = 1\n', 'a text')
})

test('dump --where refuses what resembles a comparison and is none, with a hint', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), ['{"author":"@7","a":1,"b":2,"at":3,"text":"x == y","quoted":"\'@7\'","both":"1 and b=2"}'])
  const dump = (filter) => flumelog(['dump', 'log', '--where', filter], { cwd: name('.') })
  const cases = [
    ['author == @7', '`==` is no operator'], ['author <> @8', '`<>` is no operator'], ['at =>1', '`=>` is no operator'], ['author ~ 7', '`~` has no pattern'],
    ['at >', '`>` has no value'], ["author='@7'", 'use double quotes'], ['a = 1 && b = 2', 'write `and`'], ['== y', '`==` is no operator'], ['"author', 'a closing double quote is missing']
  ]
  for (const [filter, hint] of cases) {
    const { code, stdout, stderr } = await dump(filter)
    t.deepEqual([code, stdout, stderr.includes(hint)], [2, '', true], `${filter}: ${stderr}`)
  }
  for (const filter of ['"x == y"', 'quoted = "\'@7\'"', 'both = "1 and b=2"', 'a=1 and b=2', 'a != 2 OR b > 5', 'author ~ /7$/', 'not c exists']) t.notEqual((await dump(filter)).stdout, '', filter)
})

test('dump --where --live --limit ends at the last record that is wanted', async (t) => {
  const file = testFolder(t)('log')
  await makeLog(file, ['{"at":1}', '{"at":2}'])
  const running = start(t, ['dump', file, '--live', '--where', 'at = 2', '--limit', '2'])
  await running.printed(({ stdout }) => stdout === '{"at":2}\n')
  await flumelog(['append', file, '--quiet'], { input: '{"at":3}\n{"at":2}\n{"at":2}\n' })
  const { code, stdout } = await running.ended
  t.deepEqual([code, stdout], [0, '{"at":2}\n{"at":2}\n'])
})

test('whatever JSON the records are, --where prints those that are equal, in order', async (t) => {
  const file = testFolder(t)('log')
  const values = fc.sample(fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom('a', 'ä', '\\"', ' ', 'true'), fc.boolean(), fc.constant(null)), { numRuns: 200, seed: 7 })
  await makeLog(file, values.map(a => JSON.stringify({ b: [a], a })), { blockSize: 256 })
  for (const wanted of [-3, 0, 2, 'a', 'ä']) {
    const { stdout } = await flumelog(['dump', file, '--where', `a = ${wanted}`])
    t.equal(stdout, values.filter(a => a === wanted).map(a => `${JSON.stringify({ b: [a], a })}\n`).join(''), String(wanted))
  }
})
