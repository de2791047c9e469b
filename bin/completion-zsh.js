'use strict'

// The completion script for zsh, which can be sourced, or put into a folder of $fpath as _flumelog.

/**
 * @typedef {import('./completion').Description} Description
 * @typedef {import('./completion').CommandDescription} CommandDescription
 * @typedef {import('./completion').OptionDescription} OptionDescription
 * @typedef {import('./completion').ArgumentDescription} ArgumentDescription
 */

/**
 * @param {Description} description
 * @returns {string}
 */
function script ({ options, commands }) {
  return `#compdef flumelog
# Completion of the arguments of flumelog for zsh.

_flumelog () {
  local context state state_descr line
  typeset -A opt_args
  local -a commands=(
${commands.map(({ name, summary }) => `    ${quote(`${name}:${summary}`)}`).join('\n')}
  )

  _arguments -C \\
${[...options.map(specOf), quote('1:command:->command'), quote('*::argument:->argument')].map(spec => `    ${spec}`).join(' \\\n')} && return

  case $state in
    command) _describe command commands ;;
    argument)
      case $line[1] in
${commands.map(caseOf).join('\n')}
      esac ;;
  esac
}

# in a folder of $fpath, this file is the body of the function, and is called by it
if [[ $funcstack[1] == _flumelog ]]; then
  _flumelog "$@"
else
  compdef _flumelog flumelog
fi
`
}

/** @param {CommandDescription} command */
function caseOf ({ name, options, args }) {
  const specs = [...options.map(specOf), ...args.map(argumentSpecOf)]
  return `        ${name}) _arguments -s -S ${specs.map(spec => `\\\n          ${spec}`).join(' ')} ;;`
}

/** @param {OptionDescription} option */
function specOf ({ flags, description, value, choices }) {
  const help = `[${escape(description)}]`
  const action = value === null ? '' : `:${escape(value)}:${choicesOf(choices)}`
  if (flags.length === 1) return quote(`${flags[0]}${value === null ? '' : '='}${help}${action}`)
  // the two forms exclude each other; a value follows -e, or --encoding with or without =
  const [short, long] = flags
  return `'(${short} ${long})'{${short}${value === null ? '' : '+'},${long}${value === null ? '' : '='}}${quote(help + action)}`
}

/**
 * @param {ArgumentDescription} argument
 * @param {number} index
 */
function argumentSpecOf ({ name, choices, isFile, isVariadic }, index) {
  return quote(`${isVariadic ? '*' : index + 1}:${escape(name)}:${isFile ? '_files' : choicesOf(choices)}`)
}

/** @param {string[]} choices none: there is nothing to complete */
function choicesOf (choices) {
  return choices.length === 0 ? ' ' : `(${choices.join(' ')})`
}

/** @param {string} text in which colons and brackets mean something */
function escape (text) {
  return text.replace(/[\\:[\]]/g, '\\$&')
}

/** @param {string} text */
function quote (text) {
  return `'${text.replaceAll("'", "'\\''")}'`
}

module.exports = { script }
