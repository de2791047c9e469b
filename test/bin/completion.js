'use strict'

// flumelog completion: the scripts, in bash, zsh and fish on a terminal.

const { spawnSync } = require('child_process')
const fs = require('fs')
const test = require('tape')
const { testFolder } = require('../helpers/folder')
const { thorough } = require('../helpers/thorough')
const { PROGRAM } = require('../helpers/command-line')
const { openScreen, noTerminal } = require('../helpers/pseudo-terminal')
const { flumelog } = require('../helpers/warm-flumelog')

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
  },
  fish: {
    args: ['--no-config', '-i'],
    setUp: "function fish_prompt; echo '> '; end; function fish_right_prompt; end; set -g fish_autosuggestion_enabled 0; source ./script",
    list: TAB,
    /** It gives the file of a redirection as an argument. */
    without: 'flumelog dump > out'
  }
}

/** What is typed before a tab, and what is there after it: what the scripts of the shells do by themselves. */
const COMPLETED = [
  ['flumelog du', 'flumelog dump '],
  ['flumelog dump --format=nd', 'flumelog dump --format=ndjson '],
  ['flumelog dump --limit=3 --reverse my', 'flumelog dump --limit=3 --reverse my\\ posts.log '],
  ['flumelog dump > out --limit 3 my', 'flumelog dump > out --limit 3 my\\ posts.log '],
  ['flumelog append < lines --sync al', 'flumelog append < lines --sync always ']
]

const NAMES = Object.keys(SHELLS)

// another one each time
for (const shell of thorough ? NAMES : [NAMES[Date.now() % NAMES.length]]) {
  const { args, setUp, list, without } = SHELLS[shell]
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
      if (without !== undefined && typed.startsWith(without)) continue
      screen.type(typed + TAB)
      // the cursor is behind a space at the end, which the screen does not show
      screen.type('X')
      await screen.shows(new RegExp(`> ${completed.replaceAll('\\', '\\\\')}X$`))
      t.pass(`${typed} to ${completed}`)
      screen.type(CTRL_U)
      await screen.shows(/>$/)
    }
    screen.type(`flumelog s${list}`)
    await screen.shows(/^(?=[^]*search)(?=[^]*serve)(?=[^]*stat)/)
    t.pass('the commands that start with s are listed')
    screen.type(`${CTRL_U}exit\r`)
    await screen.ended
  })
}

test('all commands and all options of each are offered', async (t) => {
  const offered = async (...words) => (await flumelog(['completion', 'bash', '--', ...words])).stdout.trim().split('\n')
  const commands = [...(await flumelog(['--help'])).stdout.split(/^Examples:$/m)[0].matchAll(/^ {2}(\w+) .*/gm)].map(([, command]) => command)
  t.ok(commands.includes('completion') && commands.includes('dump'))
  t.deepEqual((await offered('')).sort(), [...commands].sort())
  for (const command of commands.filter(command => command !== 'help')) {
    const { stdout } = await flumelog([command, '--help'])
    t.deepEqual(await offered(command, '--'), [...stdout.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, option]) => option), command)
  }
  for (const [words, candidates] of [
    [['help', 'sea'], ['search']],
    [['completion', 'z'], ['zsh']],
    [['dump', '--skip'], ['--skip-corrupt']],
    [['dump', '--format', 'nd'], ['ndjson']],
    [['append', '-e', 'base'], ['base64']]
  ]) t.deepEqual(await offered(...words), candidates, words.join(' '))
  t.deepEqual(await offered('restore', 'a', 'b', ''), [''], 'nothing after the last argument')
  t.deepEqual(await offered('del', 'a', '1', ''), [''])
})
