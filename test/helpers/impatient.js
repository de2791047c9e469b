'use strict'

// When preloaded, makes a program wait half a second instead of ten for the owner of a shared log.

const options = require('../../lib/options')

const { settingsOf } = options
options.settingsOf = (given) => settingsOf({ timeout: 500, ...given })
