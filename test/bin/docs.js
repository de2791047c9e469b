'use strict'

// Checks docs/command-line.md: each example is run, and must print what the page says.
// `node test/bin/docs.js --write` updates the output of the examples in the page.

const fs = require('fs')
const path = require('path')
const test = require('tape')
const { testFolder } = require('../helpers/folder')
const { examplesIn, withOutputs, shellIn } = require('../helpers/examples')
const { flumelog, shellOrWarm } = require('../helpers/warm-flumelog')

const PAGE = path.join(__dirname, '..', '..', 'docs', 'command-line.md')
const page = fs.readFileSync(PAGE, 'utf8')
const withoutTimes = (text) => text.replace(/in \d+\.\d\d s, [\d,]+ records\/s/g, 'in N seconds')
  // which the file system decides
  .replace(/(allocated +)[\d,]+ bytes \([\d.]+ %\)/, '$1N bytes').replace(/("allocated": )\d+/, '$1N')

test('the examples of docs/command-line.md print what the page says', async (t) => {
  const name = testFolder(t)
  const shell = shellIn(name('.'))
  const run = shellOrWarm(shell, name('.'))
  if (process.argv.includes('--write')) fs.writeFileSync(PAGE, withOutputs(page, shell))
  else {
    for (const { command, output } of examplesIn(page)) t.equal(withoutTimes(await run(command)), withoutTimes(output), command)
  }
})

test('the page describes every command and every option', async (t) => {
  const { stdout } = await flumelog(['--help'])
  const commands = [...stdout.matchAll(/^ {2}(\w+) .*<(?:file|old)>/gm)].map(([, command]) => command)
  t.ok(commands.length > 0)
  for (const command of commands) {
    t.ok(page.includes(`\n## ${command}\n`), command)
    const { stdout } = await flumelog([command, '--help'])
    for (const [, option] of stdout.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)) {
      if (option !== '--help') t.ok(page.includes('`' + option + '`'), `${command} ${option}`)
    }
  }
})
