'use strict'

// The completion script for bash: one function with the words for each command.

/**
 * @typedef {import('./completion').Description} Description
 * @typedef {import('./completion').CommandDescription} CommandDescription
 * @typedef {import('./completion').OptionDescription} OptionDescription
 */

/**
 * @param {Description} description
 * @returns {string}
 */
function script ({ options, commands }) {
  const names = commands.map(({ name }) => name)
  return `# Completion of the arguments of flumelog for bash.

_flumelog () {
  local word=\${COMP_WORDS[COMP_CWORD]} previous= command= words= options= valued= index=0 files= i
  local -a args=()
  COMPREPLY=()
  # only where a file is meant, below, bash completes names of files
  compopt +o default 2>/dev/null

  # the words before this one, without redirections
  if [[ $word == *[\\<\\>]* ]]; then compopt -o default 2>/dev/null; return; fi
  for (( i = 1; i < COMP_CWORD; i++ )); do
    if [[ \${COMP_WORDS[i]} == *[\\<\\>]* ]]; then
      if (( ++i == COMP_CWORD )); then compopt -o default 2>/dev/null; return; fi
    elif [[ \${COMP_WORDS[i]} != +([0-9]) || \${COMP_WORDS[i+1]} != [\\<\\>]* ]]; then
      args+=("\${COMP_WORDS[i]}")
    fi
  done
  command=\${args[0]}
  # --option=value is three words
  i=\${#args[@]}
  if [[ $word == = ]]; then word=; elif (( i > 1 )) && [[ \${args[i-1]} == = ]]; then (( i-- )); fi
  if (( i > 0 )); then previous=\${args[i-1]}; fi

  case $command in
    '')
      options='${flagsOf(options)}'
      words='${names.join(' ')}' ;;
${commands.map(caseOf).join('\n')}
    *) return ;;
  esac

  # the value of an option
  case "$command $previous" in
${commands.flatMap(valueCasesOf).join('\n')}
  esac

  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
    return
  fi

  # how many arguments there are before this one
  for (( i = 1; i < \${#args[@]}; i++ )); do
    if [[ " $valued " == *" \${args[i]} "* ]]; then
      if [[ \${args[i+1]} == = ]]; then (( i += 2 )); else (( i++ )); fi
    elif [[ \${args[i]} != -* ]]; then (( index++ )); fi
  done
  if (( index > 0 )); then return; fi
  if [[ -n $files ]]; then
    compopt -o default 2>/dev/null
  else
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  fi
}

complete -o default -F _flumelog flumelog
`
}

/** @param {CommandDescription} command */
function caseOf ({ name, options, args }) {
  const valued = options.filter(({ value }) => value !== null)
  const [first] = args
  return `    ${name}) options='${flagsOf(options)}' valued='${flagsOf(valued)}'` +
    (first?.isFile ? ' files=yes' : ` words='${(first?.choices ?? []).join(' ')}'`) + ' ;;'
}

/** @param {CommandDescription} command */
function valueCasesOf ({ name, options }) {
  return options.filter(({ value }) => value !== null).map(({ flags, choices }) => {
    const patterns = flags.map(flag => `'${name} ${flag}'`).join(' | ')
    return `    ${patterns}) ${choices.length === 0 ? 'return' : `COMPREPLY=($(compgen -W '${choices.join(' ')}' -- "$word")); return`} ;;`
  })
}

/** @param {OptionDescription[]} options */
function flagsOf (options) {
  return options.flatMap(({ flags }) => flags).join(' ')
}

module.exports = { script }
