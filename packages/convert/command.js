'use strict'

// The commands of this package, for `flumelog`.

module.exports = { commands: { import: require('./lib/import-command'), export: require('./lib/export-command') } }
