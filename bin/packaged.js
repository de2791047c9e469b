'use strict'

// Commands that are in packages of their own: found there, if the package is installed beside this one.

const { reportError } = require('./errors')

const WRONG_USAGE = 2

/** By command. @type {Record<string, { name: string, summary: string }>} */
const PACKAGES = {
  view: { name: 'flumelog-view', summary: 'look into a log in a browser' },
  import: { name: 'flumelog-convert', summary: 'import the file of another log, JSON lines or CSV' },
  export: { name: 'flumelog-convert', summary: 'write the records to a file of another format' },
  mirror: { name: 'flumelog-jetstream', summary: 'copy a log into a JetStream stream, and keep that up to date' },
  pull: { name: 'flumelog-jetstream', summary: 'keep a copy of a stream of NATS JetStream' }
}

/**
 * @param {string} command
 * @returns {import('./main').CommandModule}
 */
function packagedCommand (command) {
  const { name } = PACKAGES[command]
  try {
    return require(require.resolve(`${name}/command`)).commands[command]
  } catch (err) {
    if (/** @type {NodeJS.ErrnoException} */ (err).code !== 'MODULE_NOT_FOUND') throw err
    return missing(command)
  }
}

/**
 * @param {string} command
 * @returns {boolean} whether its package is
 */
function isInstalled (command) {
  try {
    require.resolve(`${PACKAGES[command].name}/command`)
    return true
  } catch {
    return false
  }
}

/**
 * @param {string} command
 * @returns {import('./main').CommandModule}
 */
function missing (command) {
  const { name, summary } = PACKAGES[command]
  const explanation = `is in the package ${name}, which is not installed here`
  const define = (/** @type {import('commander').Command} */ program) => {
    program.command(command)
      .summary(`${summary} (in the package ${name})`)
      .description(`This command ${explanation}.`)
      .argument('[arguments...]')
      .allowUnknownOption()
      .action(() => {
        reportError(`\`flumelog ${command}\` ${explanation}`)
        process.exitCode = WRONG_USAGE
      })
  }
  return { define }
}

module.exports = { PACKAGES, isInstalled, packagedCommand }
