'use strict'

// flumelog completion: prints a script that completes arguments in a shell.

const { choiceOf } = require('../arguments')
const { descriptionOf } = require('../completion')
const { helpText } = require('../usage')

/** @type {Record<string, () => (description: import('../completion').Description) => string>} */
const SHELLS = {
  bash: () => require('../completion-bash').script,
  zsh: () => require('../completion-zsh').script
}

const EXAMPLES = `
Examples:
  source <(flumelog completion bash)       in .bashrc
  source <(flumelog completion zsh)        in .zshrc, after compinit

It completes commands, options, their values and file names. The script can also be saved: for zsh as _flumelog in a directory of $fpath, for bash in /etc/bash_completion.d. It does not run flumelog, so save it again after an update.`

/** @param {import('commander').Command} program */
function define (program) {
  const shells = Object.keys(SHELLS)
  program.command('completion')
    .summary('print a completion script for bash or zsh')
    .description('Prints a script with which bash or zsh completes the arguments of flumelog.')
    .addArgument(program.createArgument('<shell>', 'the shell').choices(shells).argParser(choiceOf(shells)))
    .addHelpText('after', helpText(EXAMPLES))
    .action((/** @type {string} */ shell) => {
      process.stdout.write(SHELLS[shell]()(descriptionOf(program)))
    })
}

module.exports = { define }
