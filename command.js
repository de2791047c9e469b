'use strict'

// What the commands of packages share with those of this one: arguments, messages, progress, Ctrl-C. A package exports `{ commands }` from its
// `/command`, by name, and runs them as a program of its own by `main`. Not for other programs: it may change in any version.

const { InvalidArgumentError } = require('commander')
const args = require('./bin/arguments')
const errors = require('./bin/errors')
const { missingNote } = require('./bin/formats')
const interrupts = require('./bin/interrupts')
const { main } = require('./bin/main')
const numbers = require('./bin/numbers')
const { close, openToRead, openToWrite } = require('./bin/open')
const { byteProgress, duration, statusLine } = require('./bin/progress')
const { rateOf } = require('./bin/rate')
const { jsonOption, printResult, quietOption } = require('./bin/result')
const { paint, shownOn } = require('./bin/style')
const { withProgress } = require('./bin/survey')
const { helpText } = require('./bin/usage')

module.exports = {
  ...args, ...errors, ...interrupts, ...numbers, InvalidArgumentError, missingNote, main, close, openToRead, openToWrite, byteProgress, duration, statusLine, rateOf, jsonOption, printResult, quietOption, paint, shownOn, withProgress, helpText
}
