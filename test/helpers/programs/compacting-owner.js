'use strict'

// Owns a shared log, and is killed while it compacts it, by itself or for a client: before a call of fs that changes files.
//
//     node compacting-owner.js FILE OPTIONS KILL      KILL: { renames, calls }: before so many calls after so many renames

const { hooks } = require('../stepped-fs')
const fs = require('fs')
const { open } = require('../../../promises')

const [file, options, kill] = process.argv.slice(2)
const left = JSON.parse(kill)

main()

async function main () {
  const log = await open(file, { ...JSON.parse(options), shared: true })
  tell('opened')
  process.stdin.once('data', async (said) => {
    hooks.before = (name) => {
      if (left.renames === 0 && left.calls-- === 0) process.kill(process.pid, 'SIGKILL')
      if (left.renames > 0 && name === 'promises.rename') left.renames--
    }
    tell('armed')
    if (String(said) === 'compact\n') await log.compact().then(() => tell('compacted'))
  })
}

function tell (what) {
  fs.writeSync(1, what + '\n')
}
