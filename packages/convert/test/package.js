'use strict'

const fs = require('fs')
const path = require('path')
const { spawnSync } = require('child_process')
const { testPackage } = require('../../../test/helpers/package-tests')

testPackage('convert', {
  use (t, project) {
    fs.writeFileSync(path.join(project, 'words.json'), '"ada"\n"grace"\n')
    const run = (...args) => spawnSync('npx', ['--no-install', ...args], { cwd: project, encoding: 'utf8' })
    const imported = run('flumelog-convert', 'import', 'words.json', 'words')
    t.equal(imported.status, 0, imported.stderr)
    t.match(imported.stdout, /^words: imported 2 records/)
    const exported = run('flumelog', 'export', 'words', '--to', 'ndjson')
    t.equal(exported.status, 0, exported.stderr)
    t.equal(fs.readFileSync(path.join(project, 'words.ndjson'), 'utf8'), '"ada"\n"grace"\n')
    t.end()
  }
})
