#!/usr/bin/env node
'use strict'

// `flumelog-convert import` and `export`, the same as `flumelog import` and `export`.

const { main } = require('flumelog-random-access-file/command')
const { commands } = require('../command')
const { version } = require('../package.json')

main({ name: 'flumelog-convert', version, description: 'Imports the files of other logs, JSON lines and CSV, and exports logs to them.', commands: Object.values(commands) })
