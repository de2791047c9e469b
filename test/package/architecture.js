'use strict'

// docs/architecture.md guides those who look for a file: it leaves none out.

const fs = require('fs')
const path = require('path')
const tape = require('tape')
const { tableUnder } = require('../helpers/tables')

const ROOT = path.join(__dirname, '..', '..')
const page = fs.readFileSync(path.join(ROOT, 'docs', 'architecture.md'), 'utf8')

tape('the architecture names each file in the row of its room', (t) => {
  const rows = tableUnder(page, '```').slice(1)
  const rooms = rows.map(([room]) => /`([\w-]+)\/`/.exec(room)[1])
  const folders = fs.readdirSync(path.join(ROOT, 'lib'), { withFileTypes: true }).filter(entry => entry.isDirectory()).map(({ name }) => name)
  t.deepEqual([...rooms].sort(), [...folders, 'lib', 'bin'].sort())
  for (const [i, room] of rooms.entries()) {
    const isNamed = (file) => rows[i][1].includes(`\`${file}\``) || rows[i][1].includes(`\`${file}s\``)
    t.deepEqual(filesIn(folderOf(room)).filter(file => !isNamed(file)), [], room)
  }
  t.end()
})

const folderOf = (room) => room === 'bin' ? 'bin' : path.join('lib', room === 'lib' ? '' : room)

/** All but the types that a room may have. */
const filesIn = (folder) => fs.readdirSync(path.join(ROOT, folder)).filter(name => name.endsWith('.js') && name !== 'types.js').map(name => path.basename(name, '.js'))
