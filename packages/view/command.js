'use strict'

// The command of this package, for `flumelog`.

module.exports = { commands: { view: require('./lib/commands/view-command') } }
