'use strict'

// flumelog completion: the scripts, in bash and zsh on a terminal.

const { spawnSync } = require('child_process')
const fs = require('fs')
const test = require('tape')
const { testFolder } = require('../helpers/folder')
const { PROGRAM, flumelog } = require('../helpers/command-line')
const { openScreen, noTerminal } = require('../helpers/pseudo-terminal')

const TAB = '\t'
const CTRL_U = '\x15'

/** How an interactive shell is started without the user's settings, and told to complete. */
const SHELLS = {
  bash: {
    args: ['--norc', '--noprofile', '-i'],
    setUp: "PS1='> '; bind 'set bell-style none' 'set enable-bracketed-paste off'; source ./script",
    /** It lists candidates at the second tab. */
    list: TAB + TAB
  },
  zsh: {
    args: ['-f', '-i'],
    setUp: "PS1='> '; unsetopt beep; autoload -Uz compinit; compinit -u -D; source ./script",
    list: TAB
  }
}

/** What is typed before a tab, and what is there after it. */
const COMPLETED = [
  ['flumelog du', 'flumelog dump '],
  ['flumelog help sea', 'flumelog help search '],
  ['flumelog completion z', 'flumelog completion zsh '],
  ['flumelog dump --skip', 'flumelog dump --skip-corrupt '],
  ['flumelog dump --format nd', 'flumelog dump --format ndjson '],
  ['flumelog dump --format=nd', 'flumelog dump --format=ndjson '],
  ['flumelog append -e base', 'flumelog append -e base64 '],
  ['flumelog dump my', 'flumelog dump my\\ posts.log '],
  ['flumelog dump --limit 3 --reverse my', 'flumelog dump --limit 3 --reverse my\\ posts.log '],
  ['flumelog dump --limit=3 --reverse my', 'flumelog dump --limit=3 --reverse my\\ posts.log '],
  ['flumelog append x.log --sync=never < my', 'flumelog append x.log --sync=never < my\\ posts.log '],
  ['flumelog dump x.log --format ndjson 2> errors > my', 'flumelog dump x.log --format ndjson 2> errors > my\\ posts.log '],
  ['flumelog dump > out --limit 3 my', 'flumelog dump > out --limit 3 my\\ posts.log '],
  ['flumelog append < lines --sync al', 'flumelog append < lines --sync always ']
]

for (const [shell, { args, setUp, list }] of Object.entries(SHELLS)) {
  const isThere = spawnSync(shell, ['-c', 'exit 0']).status === 0

  test(`${shell} completes commands, options, values and file names`, { skip: isThere ? noTerminal : `there is no ${shell} here` }, async (t) => {
    const name = testFolder(t)
    fs.writeFileSync(name('my posts.log'), '')
    const { code, stdout, stderr } = await flumelog(['completion', shell])
    t.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    fs.writeFileSync(name('script'), stdout)
    fs.mkdirSync(name('bin'))
    fs.symlinkSync(PROGRAM, name('bin/flumelog'))

    const screen = openScreen(t, shell, args, { cwd: name('.'), columns: 100, env: { PATH: `${name('bin')}:${process.env.PATH}`, HISTFILE: '/dev/null' } })
    screen.type(`${setUp}; clear; echo ready\r`)
    await screen.shows(/^ready\n>/m)
    for (const [typed, completed] of COMPLETED) {
      screen.type(typed + TAB)
      // the cursor is behind a space at the end, which the screen does not show
      screen.type('X')
      await screen.shows(new RegExp(`> ${completed.replaceAll('\\', '\\\\')}X$`))
      t.pass(`${typed} to ${completed}`)
      screen.type(CTRL_U)
      await screen.shows(/>$/)
    }
    screen.type(`flumelog s${list}`)
    await screen.shows(/search.*serve.*stat|search[^]*serve[^]*stat/)
    t.pass('the commands that start with s are listed')
    screen.type(`${CTRL_U}exit\r`)
    await screen.ended
  })
}

test('the scripts have all commands and all of their options', async (t) => {
  const commands = [...(await flumelog(['--help'])).stdout.split(/^Examples:$/m)[0].matchAll(/^ {2}(\w+) .*/gm)].map(([, command]) => command)
  const scripts = await Promise.all(Object.keys(SHELLS).map(async shell => (await flumelog(['completion', shell])).stdout))
  t.ok(commands.includes('completion') && commands.includes('dump'))
  for (const script of scripts) for (const command of commands) t.ok(script.includes(`\n    ${command})`) || script.includes(`\n        ${command})`), command)
  const { stdout } = await flumelog(['dump', '--help'])
  for (const [, option] of stdout.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)) {
    for (const script of scripts) t.ok(script.includes(option), option)
  }
})
