'use strict'

// What a shell offers for the word that is being typed, by the definitions of the commands.

/** Names of arguments that are files. */
const FILE_ARGUMENTS = ['file', 'old', 'new', 'target', 'backup']
const REDIRECTION = /[<>]/

/**
 * @typedef {import('commander').Command} Command
 * @typedef {{ text: string, description?: string }} Candidate
 */

/** Tells the shell to complete names of files. @type {Candidate[]} */
const FILES = [{ text: ':files' }]

/**
 * @param {Command} program
 * @param {string[]} typed the words after its name, up to the one that is being typed
 * @returns {Candidate[]}
 */
function complete (program, typed) {
  const words = joined(typed)
  const word = words.pop() ?? ''
  const args = withoutRedirections(words)
  if (args === null || REDIRECTION.test(word)) return FILES
  const candidates = candidatesFor(program, args, word).filter(({ text }) => text.startsWith(word) || text === FILES[0].text)
  // bash replaces what follows the =
  return word === typed.at(-1) ? candidates : candidates.map(({ text }) => ({ text: text.slice(text.indexOf('=') + 1) }))
}

/**
 * @param {Command} program
 * @param {string[]} args before the word
 * @param {string} word
 * @returns {Candidate[]}
 */
function candidatesFor (program, [name, ...args], word) {
  const helper = program.createHelp()
  const commands = helper.visibleCommands(program).map(command => ({ text: command.name(), description: command.summary() || command.description() }))
  const command = name === undefined ? program : program.commands.find(command => command.name() === name)
  const options = command === undefined ? [] : helper.visibleOptions(command)
  const valued = (/** @type {string} */ flag) => options.find(({ short, long, required, optional }) => (required || optional) && [short, long].includes(flag))
  const [, prefix = '', flag = ''] = word.match(/^((--[\w-]+)=)/) ?? []
  const option = valued(flag || (args.at(-1) ?? ''))
  if (option !== undefined) return (option.argChoices ?? []).map(choice => ({ text: prefix + choice }))
  if (word.startsWith('-')) return options.flatMap(({ short, long, description }) => [long, short].flatMap(text => text === undefined ? [] : { text, description }))
  if (name === undefined) return commands
  if (name === 'help') return args.length === 0 ? commands : []
  const positional = args.filter((arg, i) => !arg.startsWith('-') && valued(args[i - 1] ?? '') === undefined)
  const registered = command?.registeredArguments ?? []
  const argument = registered[positional.length] ?? (registered.at(-1)?.variadic ? registered.at(-1) : undefined)
  if (argument === undefined) return []
  return FILE_ARGUMENTS.includes(argument.name()) ? FILES : (argument.argChoices ?? []).map(text => ({ text }))
}

/**
 * @param {string[]} words in bash, --option=value is three
 * @returns {string[]}
 */
function joined (words) {
  /** @type {string[]} */
  const all = []
  words.forEach((word, i) => {
    if (word === '=' || words[i - 1] === '=') all.push((all.pop() ?? '') + word)
    else all.push(word)
  })
  return all
}

/**
 * @param {string[]} words
 * @returns {string[] | null} null: the next word is where a redirection leads to
 */
function withoutRedirections (words) {
  const args = []
  for (let i = 0; i < words.length; i++) {
    if (REDIRECTION.test(words[i])) {
      if (++i === words.length) return null
    } else if (!/^\d+$/.test(words[i]) || !REDIRECTION.test(words[i + 1] ?? '')) args.push(words[i])
  }
  return args
}

module.exports = { complete }
