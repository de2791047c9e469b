'use strict'

const path = require('path')
const { spawn, spawnSync } = require('child_process')
const { once } = require('events')
const { testPackage } = require('../../../test/helpers/package-tests')

testPackage('view', {
  async use (t, project) {
    spawnSync('npx', ['--no-install', 'flumelog', 'append', 'my.log'], { cwd: project, input: 'one\ntwo\n' })
    const bin = path.join(project, 'node_modules', '.bin')
    for (const [program, ...args] of [['flumelog-view', 'my.log'], ['flumelog', 'view', 'my.log']]) {
      const server = spawn(process.execPath, [path.join(bin, program), ...args, '--no-open'], { cwd: project, stdio: ['ignore', 'pipe', 'ignore'] })
      const [data] = await once(server.stdout, 'data')
      const [, base, token] = /^(http.*\/)\?token=(.*)\n/.exec(String(data))
      const log = await (await fetch(`${base}api/log`, { headers: { 'flumelog-token': token } })).json()
      t.equal(log.lastSeq, 7, `${program} shows the log`)
      const library = await fetch(`${base}vendor/preact.js`)
      t.equal(library.status, 200, 'and the libraries of its page are in the package')
      server.kill()
      await once(server, 'exit')
    }
  }
})
