'use strict'

// Lines are checked many at a time; what is wrong with one of them is not said of others.

const fs = require('fs')
const test = require('tape')
const { importLog } = require('..')
const { testFolder } = require('../../../test/helpers/folder')

test('of lines that are not UTF-8 or not JSON, each one is left out alone, wherever the pieces that are read end', async (t) => {
  const name = testFolder(t)
  const wrong = [[20000, Buffer.from('"gr\xfcn"', 'latin1'), 'not UTF-8'], [20001, Buffer.from('{"a":1,}'), 'not JSON'], [60000, Buffer.from([0x22, 0xf0, 0x9f, 0x98]), 'not UTF-8']]
  const lines = Array.from({ length: 80000 }, (_, i) => Buffer.from(JSON.stringify({ i, text: 'ä€😀'.repeat(i % 13) })))
  for (const [i, line] of wrong) lines[i] = line
  fs.writeFileSync(name('old'), lines.map(line => `${line.toString('latin1')}\n`).join(''), 'latin1')
  const { records, bytes, skipped } = await importLog(name('old'), name('log'), { skip: true })
  t.deepEqual([records, skipped], [lines.length - 3, 3])
  t.equal(bytes, lines.reduce((sum, line, i) => wrong.some(([at]) => at === i) ? sum : sum + line.length, 0))
  const said = fs.readFileSync(name('log.skipped'), 'utf8').trim().split('\n').map(line => JSON.parse(line))
  t.deepEqual(said.map(({ base64 }) => Buffer.from(base64, 'base64').toString('latin1').trim()), wrong.map(([, line]) => line.toString('latin1')))
  t.ok(said.every(({ reason }, i) => reason.startsWith('line') && reason.includes(wrong[i][2])), said.map(({ reason }) => reason).join('; '))
})
