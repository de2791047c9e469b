#!/usr/bin/env node
'use strict'

// `flumelog-view FILE`, the same as `flumelog view FILE`.

const { main } = require('flumelog-random-access-file/command')
const { commands } = require('../command')
const { version } = require('../package.json')

main({ name: 'flumelog-view', version, commands: [commands.view] })
