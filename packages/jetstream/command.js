'use strict'

// The commands of this package, for `flumelog`.

module.exports = { commands: { mirror: require('./lib/mirror-command'), pull: require('./lib/pull-command') } }
