'use strict'

// flumelog dump --live: follows a shared log from one owner to the next.

const test = require('tape')
const { testFolder } = require('../helpers/folder')
const { flumelog, start } = require('../helpers/command-line')
const { readLog } = require('../helpers/logs')

/** Lines that a process appends before it waits for dump to print them. */
const LINES = 100
/** How many times, before and after the owner is killed. */
const ROUNDS = 25

test('dump --live prints every record once, in order, though the owner is killed while others append', async (t) => {
  const file = testFolder(t)('log')
  const owner = start(t, ['serve', file])
  await owner.printed(({ stderr }) => stderr.includes('serving'))
  const follower = start(t, ['dump', file, '--live', '--seqs'])
  const names = ['a', 'b']
  const appenders = names.map(() => start(t, ['append', file]))
  const textOf = (name, number) => `${name} ${number} ${'x'.repeat(number % 50)}\n`

  const appendRounds = (first) => Promise.all(names.map(async (name, i) => {
    for (let round = first; round < first + ROUNDS; round++) {
      const numbers = Array.from({ length: LINES }, (_, i) => round * LINES + i)
      await appenders[i].send(numbers.map(number => textOf(name, number)).join(''))
      await follower.printed(({ stdout }) => stdout.includes(`\t${textOf(name, numbers.at(-1))}`))
      // in the middle of what the other one is doing
      if (i === 0 && round === ROUNDS) owner.child.kill('SIGKILL')
    }
  }))
  await appendRounds(0)
  await appendRounds(ROUNDS)
  t.equal((await owner.ended).signal, 'SIGKILL')
  for (const appender of appenders) {
    appender.child.stdin.end()
    t.equal((await appender.ended).code, 0)
  }
  await flumelog(['append', file], { input: 'the last' })
  await follower.printed(({ stdout }) => stdout.endsWith('the last\n'))
  const { code, stdout, stderr } = await follower.kill('SIGINT')
  t.deepEqual({ code, stderr }, { code: 0, stderr: '' })

  const printed = stdout.slice(0, -1).split('\n')
  for (const name of names) {
    const expected = Array.from({ length: 2 * ROUNDS * LINES }, (_, number) => textOf(name, number).trimEnd())
    const texts = printed.map(line => line.split('\t')[1].trimEnd()).filter(text => text.startsWith(`${name} `))
    t.deepEqual(texts, expected, `what ${name} has appended`)
  }
  t.deepEqual(printed, (await readLog(file)).map(({ seq, value }) => `${seq}\t${value}`), 'what is in the log')
})
