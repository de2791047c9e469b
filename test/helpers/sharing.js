'use strict'

// What the tests of shared logs have in common: processes that share one, logs in the test's
// own process, and what must be true in the end.

const pull = require('pull-stream')
const FlumeLog = require('../..')
const { start } = require('./processes')
const { isIntact, numberOf, numbered } = require('./numbered')
const { promises } = require('./promises')
const { collect } = require('./reading')
const { signal } = require('./runtime')

/** Milliseconds after which a call that has no answer hangs: far more than the slowest machine needs. */
const PATIENCE = 120_000

/**
 * A process that has a shared log open.
 * @param {import('tape').Test} t
 * @param {string} file
 * @param {any} [options] of the log
 * @param {any} [more] arguments of the program
 * @param {any} [how] see `start`
 */
function sharer (t, file, options = {}, more = {}, how = {}) {
  return withCalls(start(t, 'share.js', { file, options, ...more }, how))
}

/** Gives a program a method for its calls. */
function withCalls (program) {
  let calls = 0
  program.call = async (call, details = {}) => {
    const id = ++calls
    program.send({ id, call, ...details })
    return await inTime(program.message(message => message.id === id), `${call} ${JSON.stringify(details)}`)
  }
  program.opened = async () => {
    const message = await inTime(program.message(({ what }) => what === 'opened'), 'opening')
    if (message.code) throw new Error(`${message.code}: ${message.message}`)
    return message
  }
  program.hasRole = (role) => inTime(program.message(message => message.what === 'role' && message.role === role), `becoming the ${role}`)
  program.signal = (name) => signal(program.child, name)
  return program
}

/**
 * @param {string} file
 * @param {any} [options]
 * @returns {ReturnType<typeof promises> & { number: (from: number, count?: number, appendOptions?: any) => Promise<number>[] }} a log in this process
 */
function shared (file, options = {}) {
  const made = promises(FlumeLog(file, { ...options, shared: true }))
  made.number = (from, count = 1, appendOptions = {}) => Array.from({ length: count }, (_, i) => made.append(numbered(from + i, 20), appendOptions))
  return made
}

/** Follows a log; `seen` gets the numbers of records in the order in which they come. */
function following (log, options = { live: true }) {
  const seen = []
  const waiting = new Set()
  const look = () => { for (const check of [...waiting]) check() }
  const following = { seen, error: null, isOver: false }
  pull(log.stream(options), pull.drain(({ value }) => {
    if (!isIntact(value)) throw new Error('a record is not whole')
    seen.push(numberOf(value))
    look()
  }, (err) => {
    Object.assign(following, { error: err, isOver: true })
    look()
  }))
  following.until = (number) => inTime(new Promise((resolve, reject) => {
    const check = () => {
      if (!seen.includes(number) && !following.isOver) return
      waiting.delete(check)
      if (seen.includes(number)) resolve()
      else reject(following.error ?? new Error('the stream has ended'))
    }
    waiting.add(check)
    check()
  }), `seeing record ${number}`)
  return following
}

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {string} what it is
 * @returns {Promise<T>}
 */
async function inTime (promise, what) {
  let timer
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} hangs: no answer after ${PATIENCE} ms`)), PATIENCE)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** @returns {Promise<number[]>} the numbers of the records in a file, in order */
async function numbersIn (file) {
  const reader = promises(FlumeLog(file, { readOnly: true }))
  const values = await collect(reader.log, { seqs: false })
  await reader.close()
  if (!values.every(isIntact)) throw new Error('a record is not whole')
  return values.map(numberOf)
}

const upTo = (last, first = 1) => Array.from({ length: last - first + 1 }, (_, i) => first + i)

module.exports = { sharer, shared, following, inTime, numbersIn, upTo, PATIENCE }
