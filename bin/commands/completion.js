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
  source <(flumelog completion bash)                                in .bashrc
  source <(flumelog completion zsh)                                 in .zshrc, after compinit
  flumelog completion zsh > ~/.zfunc/_flumelog                      for a folder of $fpath
  flumelog completion bash > /etc/bash_completion.d/flumelog        for all users

The script completes commands, options, their values and file names. It does not run flumelog, so print it again after an update.`

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
