#!/usr/bin/env node
'use strict'

// `flumelog-jetstream mirror` and `pull`, the same as `flumelog mirror` and `pull`.

const { main } = require('flumelog-random-access-file/command')
const { commands } = require('../command')
const { version } = require('../package.json')

main({ name: 'flumelog-jetstream', version, description: 'Copies logs into streams of NATS JetStream, and streams into logs.', commands: Object.values(commands) })
