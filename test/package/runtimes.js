'use strict'

// Logs that programs on different runtimes open. On Node.js nothing of this is run: the other
// one is Node.js.

const path = require('path')
const { spawn, spawnSync } = require('child_process')
const { once } = require('events')
const tape = require('tape')
const FlumeLog = require('../..')
const { open } = require('../../promises')
const { testFolder } = require('../helpers/folder')
const { promises } = require('../helpers/promises')
const { codeOf } = require('../helpers/reading')
const { isNode, runtime } = require('../helpers/runtime')

const OPEN_LOGS = path.join(__dirname, '../helpers/programs/open-logs.js')
const hasNode = !isNode && spawnSync('node', ['--version']).status === 0

tape('a program on Node.js and one on another runtime exclude each other', { skip: !hasNode }, async (t) => {
  const file = testFolder(t)('log')
  const argument = JSON.stringify([{ file, options: { lock: 'required' } }])
  const here = promises(FlumeLog(file, { lock: 'required' }))
  await here.append(Buffer.from('here'))
  const refused = await openedBy(t, 'node', [OPEN_LOGS, argument])
  t.equal(refused.messages[0].code, 'flumelog:locked', 'Node.js does not get the lock')
  await here.close()

  const there = await openedBy(t, 'node', [OPEN_LOGS, argument])
  t.equal(there.messages[0].what, 'opened', 'then it does')
  t.equal(await codeOf(promises(FlumeLog(file)).onReady()), 'flumelog:locked', 'and this one does not')
  await there.kill()
  const next = promises(FlumeLog(file, { lock: 'required' }))
  await next.onReady()
  t.pass('until that process is killed')
  await next.close()
})

tape('a program on Node.js and one on another runtime share a log', { skip: !hasNode }, async (t) => {
  const file = testFolder(t)('log')
  const log = await open(file, { shared: true })
  await log.append('one')
  const append = spawn('node', [path.join(__dirname, '../../bin/flumelog.js'), 'append', file, '--shared'], { stdio: ['pipe', 'ignore', 'inherit'] })
  append.stdin.end('two\n')
  await once(append, 'exit')
  const texts = []
  for await (const { value } of log.stream()) texts.push(String(value))
  t.deepEqual(texts, ['one', 'two'])
  await log.close()
})

tape('without --allow-ffi Deno locks nothing, and says so', { skip: runtime !== 'deno' }, async (t) => {
  const folder = testFolder(t)
  const logs = [{ file: folder('a'), options: {} }, { file: folder('b'), options: { lock: 'required' } }, { file: folder('c'), options: { shared: true } }]
  const program = ['run', '--no-prompt', '--allow-read', `--allow-write=${folder('.')}`, '--allow-env', OPEN_LOGS, JSON.stringify(logs)]
  const { messages } = await openedBy(t, process.execPath, program)
  const refused = messages.filter(({ what }) => what === 'refused')
  t.deepEqual(refused.map(({ code }) => code), ['flumelog:no-lock', 'flumelog:no-lock'])
  t.ok(refused.every(({ message }) => message.endsWith('Deno needs --allow-ffi')), 'the errors say what to do')
  t.match(messages.find(({ what }) => what === 'warning')?.message ?? '', /Deno needs --allow-ffi/, 'and so does the warning')
})

tape('on Deno, a log that needs more than is allowed is not opened, and the error names what is missing', { skip: runtime !== 'deno' }, async (t) => {
  const folder = testFolder(t)
  const allowed = ['--allow-read', '--allow-ffi', '--allow-env']
  const writing = [...allowed, `--allow-write=${folder('.')}`]
  for (const [missing, flags, options] of [['--allow-write', allowed, {}], ['--allow-net', writing, { shared: true }]]) {
    const logs = [{ file: folder('log'), options }]
    const { messages } = await openedBy(t, process.execPath, ['run', '--no-prompt', ...flags, OPEN_LOGS, JSON.stringify(logs)])
    const { code, message, filename } = messages.find(({ what }) => what === 'refused')
    t.deepEqual([code, filename], ['ERR_ACCESS_DENIED', folder('log')])
    t.ok(message.startsWith(`${folder('log')}: `) && message.includes(missing), message)
  }
})

/** Resolves when the program open-logs.js has told what became of each log; it keeps them open. */
async function openedBy (t, command, args) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const kill = () => {
    child.kill('SIGKILL')
    return exited
  }
  t.teardown(kill)
  let text = ''
  for await (const data of child.stdout.setEncoding('utf8')) {
    text += data
    if (text.includes('"ready"')) break
  }
  return { messages: text.trim().split('\n').map(line => JSON.parse(line)), kill }
}
