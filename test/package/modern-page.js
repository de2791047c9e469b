'use strict'

// Checks docs/modern.md: its programs print what their comments say, and its links
// work. Its TypeScript is compiled by test/package/types.js.

const fs = require('fs')
const path = require('path')
const { spawnSync } = require('child_process')
const tape = require('tape')
const { testFolder } = require('../helpers/folder')

const ROOT = path.join(__dirname, '..', '..')
const PAGE = path.join(ROOT, 'docs', 'modern.md')
const { name } = require('../../package.json')
const text = fs.readFileSync(PAGE, 'utf8')
const sections = text.split(/^## /m).slice(1).map(section => ({
  title: section.split('\n')[0],
  programs: [...section.matchAll(/^```js\n(.*?)^```/gms)].map(match => match[1])
}))

for (const { title, programs } of sections) {
  for (const program of programs) {
    tape(`the program under “${title}” prints what its comments say`, (t) => {
      const folder = testFolder(t)
      fs.mkdirSync(folder('node_modules'))
      fs.symlinkSync(ROOT, folder(`node_modules/${name}`), 'junction')
      const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', program], { cwd: folder('.'), encoding: 'utf8' })
      t.equal(status, 0, stderr || 'exits with code 0')
      const said = [...program.matchAll(/console\.log\(.* \/\/ (.*)$/gm)].flatMap(match => match[1].split(' / '))
      t.deepEqual(stdout.split('\n').slice(0, -1), said)
      t.end()
    })
  }
}

tape('each wrapper has a program, and all links to files of the project work', (t) => {
  t.deepEqual(sections.filter(({ programs }) => programs.length > 0).map(({ title }) => title),
    ['Promises', 'Iterators', 'Node.js streams', 'Push-streams', 'Maintenance', 'Codecs'])
  const links = [...text.matchAll(/\]\((?!http)([^)]+)\)/g)].map(match => match[1])
  t.deepEqual(links.filter(link => !fs.existsSync(path.join(path.dirname(PAGE), link))), [])
  const examples = fs.readdirSync(path.join(ROOT, 'examples'))
  t.deepEqual(examples.filter(file => !links.includes(`../examples/${file}`)), [], 'every example is listed')
  t.end()
})
