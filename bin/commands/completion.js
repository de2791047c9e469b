'use strict'

// flumelog completion: prints a script that completes arguments in a shell. The script calls this command with what is typed.

const { choiceOf } = require('../arguments')
const { complete } = require('../completion')
const { helpText } = require('../usage')

/** @type {Record<string, { script: string, format: (candidate: import('../completion').Candidate) => string }>} */
const SHELLS = {
  bash: {
    script: `_flumelog () {
  local IFS=$'\\n'
  # bash completes names of files only where one is meant
  compopt +o default 2>/dev/null
  COMPREPLY=($(flumelog completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  if [[ \${COMPREPLY[0]} == :files ]]; then
    COMPREPLY=()
    compopt -o default 2>/dev/null
  fi
}

complete -o default -F _flumelog flumelog`,
    format: ({ text }) => text
  },
  zsh: {
    script: `#compdef flumelog

_flumelog () {
  local -a found=("\${(@f)$(flumelog completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ $found[1] == :files ]]; then
    _files
  elif [[ -n $found[1] ]]; then
    _describe argument found
  fi
}

# in a folder of $fpath, this file is the body of the function, and is called by it
if [[ $funcstack[1] == _flumelog ]]; then
  _flumelog "$@"
else
  compdef _flumelog flumelog
fi`,
    format: ({ text, description }) => description === undefined ? text : `${text}:${description}`
  },
  fish: {
    script: `function __flumelog
  set -l words (commandline -opc)
  set -l word (commandline -ct)
  set -l found (flumelog completion fish -- $words[2..] "$word" 2>/dev/null)
  if test "$found[1]" = :files
    __fish_complete_path "$word"
  else
    string join -- \\n $found
  end
end

complete -c flumelog -f -a '(__flumelog)'`,
    format: ({ text, description }) => description === undefined ? text : `${text}\t${description}`
  }
}

const EXAMPLES = `
Examples:
  source <(flumelog completion bash)       in .bashrc
  source <(flumelog completion zsh)        in .zshrc, after compinit
  flumelog completion fish | source        in config.fish

It completes commands, options, their values and file names. The script can also be saved: for zsh as _flumelog in a directory of $fpath, for bash in /etc/bash_completion.d, for fish in ~/.config/fish/completions. It asks flumelog, so it stays true after an update.`

/** @param {import('commander').Command} program */
function define (program) {
  const shells = Object.keys(SHELLS)
  program.command('completion')
    .summary('print a completion script for a shell')
    .description('Prints a script with which bash, zsh or fish completes the arguments of flumelog.')
    .addArgument(program.createArgument('<shell>', 'the shell').choices(shells).argParser(choiceOf(shells)))
    .argument('[words...]', 'after --, what is typed: prints what the shell may offer')
    .addHelpText('after', helpText(EXAMPLES))
    .action((/** @type {string} */ shell, /** @type {string[]} */ words) => {
      const { script, format } = SHELLS[shell]
      for (const line of words.length === 0 ? [script] : complete(program, words).map(format)) process.stdout.write(line + '\n')
    })
}

module.exports = { define }
