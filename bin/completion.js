'use strict'

// What completion scripts need to know of the commands, taken from their definition.

/**
 * @typedef {object} OptionDescription
 * @property {string[]} flags -e, --encoding
 * @property {string} description
 * @property {string | null} value the name of its value; null: it has none
 * @property {string[]} choices of the value; none: it can be anything
 *
 * @typedef {object} ArgumentDescription
 * @property {string} name
 * @property {string[]} choices
 * @property {boolean} isFile
 * @property {boolean} isVariadic
 *
 * @typedef {object} CommandDescription
 * @property {string} name
 * @property {string} summary
 * @property {OptionDescription[]} options
 * @property {ArgumentDescription[]} args
 *
 * @typedef {{ options: OptionDescription[], commands: CommandDescription[] }} Description
 */

/** Names of arguments that are files. */
const FILE_ARGUMENTS = ['file', 'old', 'new', 'target', 'backup']

/**
 * @param {import('commander').Command} program
 * @returns {Description}
 */
function descriptionOf (program) {
  const helper = program.createHelp()
  const optionsOf = (/** @type {import('commander').Command} */ command) => helper.visibleOptions(command).map(describeOption)
  const visible = helper.visibleCommands(program)
  const names = visible.map(command => command.name()).filter(name => name !== 'help')
  return {
    options: optionsOf(program),
    commands: visible.map(command => ({
      name: command.name(),
      summary: command.summary() || command.description(),
      options: command.name() === 'help' ? [] : optionsOf(command),
      args: command.registeredArguments.map(argument => ({
        name: argument.name(),
        choices: command.name() === 'help' ? names : argument.argChoices ?? [],
        isFile: FILE_ARGUMENTS.includes(argument.name()),
        isVariadic: argument.variadic
      }))
    }))
  }
}

/**
 * @param {import('commander').Option} option
 * @returns {OptionDescription}
 */
function describeOption ({ short, long, flags, description, required, optional, argChoices }) {
  return {
    flags: [short, long].filter(flag => typeof flag === 'string'),
    description,
    value: required || optional ? flags.match(/<(.*)>|\[(.*)\]/)?.slice(1).find(Boolean) ?? '' : null,
    choices: argChoices ?? []
  }
}

module.exports = { descriptionOf }
