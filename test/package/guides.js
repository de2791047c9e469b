'use strict'

// The guides, followed from beginning to end: each in an empty project that has the packages that it says to install. Programs get the names
// that stand before them, a diff changes the program that is named before it, and commands must print what the page says. The core is packed and
// installed; other packages are links to those of the checkout.
// `node test/package/guides.js --write` updates what they print.

const fs = require('fs')
const path = require('path')
const { spawnSync } = require('child_process')
const tape = require('tape')
const { ROOT, name: core, packed, install } = require('../helpers/installed')
const { examplesIn, withOutputs } = require('../helpers/examples')
const { processFolder } = require('../helpers/folder')

const GUIDES = path.join(ROOT, 'docs', 'guides')
const isWriting = process.argv.includes('--write')

const named = process.argv.slice(2).filter(argument => argument.endsWith('.md'))

for (const guide of named.length > 0 ? named : fs.readdirSync(GUIDES)) {
  tape(`docs/guides/${guide}, followed from beginning to end, does what it says`, (t) => {
    const page = fs.readFileSync(path.join(GUIDES, guide), 'utf8')
    const project = projectFor(guide, page)
    const run = (/** @type {string} */ command) => outputOf(command, project)
    let steps = 0
    const written = page.replace(/^```(\w+)\n([^]*?)^```$/gm, (block, language, code, index) => {
      const file = programIn(page.slice(0, index))
      if (language === 'diff') change(t, path.join(project, file), code)
      else if (file !== undefined) fs.writeFileSync(path.join(project, file), code)
      else if (language !== 'console') return block
      steps++
      if (language !== 'console') return block
      if (isWriting) return withOutputs(block, run)
      for (const { command, output } of examplesIn(block)) t.equal(withoutTimes(run(command)), withoutTimes(output), command)
      return block
    })
    t.ok(steps > 0, 'it has programs or commands')
    if (isWriting) fs.writeFileSync(path.join(GUIDES, guide), written)
    t.end()
  })
}

/** @param {string} before a block @returns {string | undefined} the program that the paragraph in front of it names last, if it ends in a colon */
function programIn (before) {
  const paragraph = before.trimEnd().split('\n\n').at(-1)
  return paragraph.endsWith(':') ? [...paragraph.matchAll(/`([\w-]+\.[mc]?js)`/g)].at(-1)?.[1] : undefined
}

/** @param {string} guide @param {string} page @returns {string} an empty project that has the packages that the page says to install */
function projectFor (guide, page) {
  const project = path.join(processFolder(), path.basename(guide, '.md'))
  const modules = [...page.matchAll(/npm install ([^`\n]+)/g)].flatMap(match => match[1].split(' ')).filter(module => module !== core)
  install(packed().tarball, project, modules)
  return project
}

/** @param {string} command @param {string} project @returns {string} what it prints on stdout and stderr */
function outputOf (command, project) {
  // other packages of the guides, such as flumeview-reduce, warn with newer versions of Node.js
  const env = { ...process.env, LC_ALL: 'C', npm_config_loglevel: 'error', NODE_NO_WARNINGS: '1' }
  return spawnSync('bash', ['-c', `exec 2>&1; ${command}\nexit`], { cwd: project, env, encoding: 'utf8' }).stdout
    // an interactive bash prints no more than that
    .replace(/^bash: line \d+: +\d+ Killed.*$/gm, 'Killed')
}

/** Applies a diff without line numbers. @param {import('tape').Test} t @param {string} file @param {string} diff */
function change (t, file, diff) {
  const lines = diff.split('\n').slice(0, -1)
  const side = (/** @type {string} */ other) => lines.filter(line => !line.startsWith(other)).map(line => line.slice(1) + '\n').join('')
  const text = fs.readFileSync(file, 'utf8')
  t.ok(text.includes(side('+')), `${path.basename(file)} has the lines that the diff changes`)
  fs.writeFileSync(file, text.replace(side('+'), () => side('-')))
}

/** @param {string} text without what differs from run to run */
const withoutTimes = (text) => text.replace(/in \d+\.\d\d s, [\d,]+ records\/s/g, 'in N s, N records/s')
