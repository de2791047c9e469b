'use strict'

// docs/architecture.md guides those who look for a file: it leaves none out.

const fs = require('fs')
const path = require('path')
const tape = require('tape')

const ROOT = path.join(__dirname, '..', '..')
const page = fs.readFileSync(path.join(ROOT, 'docs', 'architecture.md'), 'utf8')

tape('the architecture names each file in the list of its room', (t) => {
  const lists = page.slice(page.indexOf('\n## Files\n')).split('\n### ').slice(1)
  const rooms = lists.map(list => /^`([\w-]+)\/`\n/.exec(list)[1])
  const folders = fs.readdirSync(path.join(ROOT, 'lib'), { withFileTypes: true }).filter(entry => entry.isDirectory()).map(({ name }) => name)
  t.deepEqual([...rooms].sort(), [...folders, 'lib', 'bin'].sort())
  for (const [i, room] of rooms.entries()) {
    t.deepEqual(filesIn(folderOf(room)).filter(file => !lists[i].includes(`\`${file}\``)), [], `${room} has no other files`)
    const named = [...lists[i].matchAll(/^- (?:[^:`]*: )?([^:]*)/gm)].flatMap(match => [...match[1].matchAll(/`([\w-]+)`/g)].map(([, file]) => file))
    t.deepEqual(named.filter(file => !fs.existsSync(path.join(ROOT, folderOf(room), `${file}.js`))), [], `${room} has all that are named`)
  }
  t.end()
})

const folderOf = (room) => room === 'bin' ? 'bin' : path.join('lib', room === 'lib' ? '' : room)

/** All but the types that a room may have. */
const filesIn = (folder) => fs.readdirSync(path.join(ROOT, folder)).filter(name => name.endsWith('.js') && name !== 'types.js').map(name => path.basename(name, '.js'))
