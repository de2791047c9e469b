'use strict'

// The examples in README.md need a server: page.js runs them.

const { spawnSync } = require('child_process')
const { testPackage } = require('../../../test/helpers/package-tests')

testPackage('jetstream', {
  examples: false,
  use (t, project) {
    const run = (...args) => spawnSync('npx', ['--no-install', ...args], { cwd: project, encoding: 'utf8', env: { ...process.env, npm_config_loglevel: 'error' } })
    for (const command of ['mirror', 'pull']) {
      const { status, stdout } = run('flumelog', command, '--help')
      t.deepEqual([status, stdout.startsWith(`Usage: flumelog ${command} `)], [0, true], `flumelog ${command} is found`)
    }
    const { status, stderr } = run('flumelog-jetstream', 'mirror', 'missing', 'nats://127.0.0.1:1/S', '--no-live')
    t.deepEqual([status, stderr], [1, 'flumelog: missing: no such file; check the name\n'])
    t.end()
  }
})
