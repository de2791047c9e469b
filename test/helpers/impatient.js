'use strict'

// When preloaded, makes a program wait three seconds instead of ten for the owner of a shared log.

const options = require('../../lib/options')

const { settingsOf } = options
options.settingsOf = (given) => settingsOf({ timeout: 3000, ...given })
