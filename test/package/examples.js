'use strict'

// Runs every program in examples/, as a user would.

const fs = require('fs')
const path = require('path')
const { execFile, spawn } = require('child_process')
const tape = require('tape')
const { open } = require('../../promises')
const { testFolder } = require('../helpers/folder')
const { preloading, signal } = require('../helpers/runtime')

const EXAMPLES = path.join(__dirname, '..', '..', 'examples')
const codec = { encode: JSON.stringify, decode: JSON.parse, buffer: false }
const tried = []

tape('flumedb-views: both views reflect the log, also in later runs', async (t) => {
  const folder = testFolder(t)
  const once = [
    '{ ada: 70, grace: 250, mary: 75 }',
    '250 to grace, at 34',
    '100 to ada, at 0',
    '75 to mary, at 104'
  ]
  t.deepEqual(await run(t, folder, 'flumedb-views.js'), once)
  t.deepEqual(await run(t, folder, 'flumedb-views.js', folder('log')), once)
  const twice = await run(t, folder, 'flumedb-views.js', folder('log'))
  t.deepEqual(twice.slice(0, 1), ['{ ada: 140, grace: 500, mary: 150 }'])
  t.deepEqual(twice.slice(1).map(line => line.split(',')[0]), ['250 to grace', '250 to grace', '100 to ada', '100 to ada', '75 to mary', '75 to mary'])
})

tape('tail: it prints what another process appends, as it is appended', async (t) => {
  const folder = testFolder(t)
  const lines = [1, 2, 3, 4, 5].map(n => `${(n - 1) * 26} { n: ${n}, isLast: ${n === 5} }`)
  t.deepEqual(await run(t, folder, 'tail.js'), lines)

  const log = await open(folder('log'), { codec })
  await log.append({ n: 1 })
  const child = spawn(process.execPath, [path.join(EXAMPLES, 'tail.js'), folder('log')])
  const shown = linesOf(child.stdout)
  t.equal(await shown(), '0 { n: 1 }')
  await log.append({ n: 2 })
  t.equal(await shown(), '11 { n: 2 }', 'with the name of a file: what this process appends')
  signal(child, 'SIGINT')
  const code = await new Promise(resolve => child.on('close', resolve))
  t.equal(code, 0, 'until it is interrupted')
  await log.close()
})

tape('cluster: workers share a log, and go on when one of them is killed', async (t) => {
  const folder = testFolder(t)
  const child = spawn(process.execPath, [path.join(EXAMPLES, 'cluster.js'), folder('log'), '0'])
  tried.push('cluster.js')
  const shown = linesOf(child.stdout)
  const url = /http:\S+/.exec(await shown())[0]
  const ask = async (options) => (await fetch(url, { ...options, headers: { connection: 'close' } })).json()
  const post = (name) => ask({ method: 'POST', body: name })
  const seqs = [(await post('ada')).seq, (await post('grace')).seq]
  let owner = await ask()
  while (owner.role !== 'owner') owner = await ask()
  process.kill(owner.pid, 'SIGKILL')
  t.equal(await shown(), `worker ${owner.pid} is gone (SIGKILL); starting another one`)
  seqs.push((await post('mary')).seq)
  // another worker may be told of it a moment later
  let last
  do last = (await ask()).last.map(({ value }) => value.body)
  while (last.length < 3)
  t.deepEqual(last, ['mary', 'grace', 'ada'])
  signal(child, 'SIGINT')
  t.equal(await new Promise(resolve => child.on('close', resolve)), 0, 'until it is interrupted')
  const log = await open(folder('log'), { codec, readOnly: true })
  const stored = []
  for await (const seq of log.stream({ values: false })) stored.push(seq)
  t.deepEqual(stored, seqs)
  t.deepEqual(fs.readdirSync(path.dirname(folder('log'))).filter(name => name.endsWith('.socket')), [], 'and the log is closed then')
  await log.close()
})

tape('cluster: a worker that can append no more is replaced by another one', async (t) => {
  const folder = testFolder(t)
  const child = spawn(process.execPath, [path.join(EXAMPLES, 'cluster.js'), folder('log'), '0'])
  const shown = linesOf(child.stdout)
  const url = /http:\S+/.exec(await shown())[0]
  const post = async () => (await fetch(url, { method: 'POST', body: 'ada', headers: { connection: 'close' } })).json()
  await post()
  fs.renameSync(folder('log'), folder('moved'))
  // the next fdatasync notices it
  let code
  do code = (await post()).code
  while (code === undefined)
  t.equal(code, 'flumelog:replaced')
  t.match(await shown(), /^worker \d+ is gone \(1\); starting another one$/)
  signal(child, 'SIGINT')
  t.equal(await new Promise(resolve => child.on('close', resolve)), 0, 'until it is interrupted')
})

tape('import-csv: each line becomes a record', async (t) => {
  const folder = testFolder(t)
  const [line] = await run(t, folder, 'import-csv.js')
  const [, count, file] = /^(\d+) records in (.*)$/.exec(line)
  const weather = fs.readFileSync(path.join(path.dirname(require.resolve('vega-datasets')), '../data/seattle-weather.csv'), 'utf8').trim().split(/\r?\n/)
  t.equal(Number(count), weather.length - 1)
  const records = await recordsOf(file)
  t.deepEqual(records.map(record => Object.values(record).join()), weather.slice(1))
  t.deepEqual(Object.keys(records[0]).join(), weather[0])

  fs.writeFileSync(folder('csv'), 'name,"what, and where",n\n"Ada ""the first""",,1\nGrace,"a, b",\n')
  await run(t, folder, 'import-csv.js', folder('csv'), folder('log'))
  t.deepEqual(await recordsOf(folder('log')), [
    { name: 'Ada "the first"', 'what, and where': '', n: '1' },
    { name: 'Grace', 'what, and where': 'a, b', n: '' }
  ], 'with fields in quotes, and empty ones')
})

tape('import-csv: the progress bar on a terminal reaches 100 %', async (t) => {
  const folder = testFolder(t)
  const { stderr } = await start(folder, [...preloading([path.join(__dirname, '..', 'helpers', 'terminal.js')]), path.join(EXAMPLES, 'import-csv.js')], { TEST_COLUMNS: '80' })
  t.ok(/█+░* \d+ %/.test(stderr), 'it is drawn')
  t.ok(/█ 100 %/.test(stderr), 'to the end')
})

tape('bipf: the records that match are found', async (t) => {
  const folder = testFolder(t)
  const once = ['5 to ada, at 0', '65 to ada, at 52']
  t.deepEqual(await run(t, folder, 'bipf.js'), once)
  t.deepEqual(await run(t, folder, 'bipf.js', folder('log')), once)
  t.deepEqual(await run(t, folder, 'bipf.js', folder('log')), [...once, '5 to ada, at 77', '65 to ada, at 129'], 'those of earlier runs, too')
})

tape('every example is tested', (t) => {
  t.deepEqual(fs.readdirSync(EXAMPLES).filter(file => !tried.includes(file)), [])
  t.end()
})

/** Runs an example until it exits. @returns {Promise<string[]>} the lines it prints */
async function run (t, folder, example, ...args) {
  if (!tried.includes(example)) tried.push(example)
  const { err, stdout, stderr } = await start(folder, [path.join(EXAMPLES, example), ...args])
  t.equal(err, null, stderr || `${example} ends with code 0`)
  return stdout.split('\n').slice(0, -1)
}

function start (folder, args, env = {}) {
  return new Promise(resolve => {
    // its temporary directories are created in that of the test
    execFile(process.execPath, args, { encoding: 'utf8', env: { ...process.env, TMPDIR: folder('.'), ...env } },
      (err, stdout, stderr) => resolve({ err, stdout, stderr }))
  })
}

/** @returns {() => Promise<string>} resolves to the next line */
function linesOf (stream) {
  const lines = require('readline').createInterface({ input: stream })[Symbol.asyncIterator]()
  return async () => (await lines.next()).value
}

async function recordsOf (file) {
  const log = await open(file, { codec, readOnly: true })
  const records = []
  for await (const record of log.stream({ seqs: false })) records.push(record)
  await log.close()
  return records
}
