'use strict'

// The commands of this package, for `flumelog`.

module.exports = { commands: { mirror: require('./lib/commands/mirror-command'), pull: require('./lib/commands/pull-command') } }
