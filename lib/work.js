'use strict'

// What operations on a whole log have in common: they check their options, report progress, and can be stopped.

const errors = require('./errors')
const { format } = require('./format-value')
const { optionNames } = require('./option-names')
const { mustBeBoolean } = require('./options')
const { mustBeSignal } = require('./signal')

/**
 * @typedef {'verify' | 'copy' | 'check' | 'import' | 'export' | 'compare'} Step `check`: a copy that was written is read back. `compare`: an earlier
 *   backup is compared with its log
 */

/**
 * @typedef {object} Progress
 * @property {Step} step what is being done
 * @property {number} bytes that are done, of this step
 * @property {number} total bytes to do in this step
 *
 * @typedef {object} WorkOptions
 * @property {(progress: Progress) => void} [onProgress] called about once per MiB; what it throws ends the work
 * @property {AbortSignal} [signal] ends the work, with its reason
 */

class Work {
  /**
   * @param {WorkOptions} options
   * @throws flumelog:invalid
   */
  constructor ({ onProgress, signal }) {
    if (onProgress !== undefined && typeof onProgress !== 'function') throw errors.invalid(`onProgress must be a function; it is ${format(onProgress)}`)
    mustBeSignal(signal)
    this.onProgress = onProgress
    this.signal = signal
  }

  /**
   * @param {Step} step that starts
   * @returns {(bytes: number, total: number) => void} throws if the work has to end
   */
  begin (step) {
    this.throwIfStopped()
    return (bytes, total) => {
      if (this.onProgress !== undefined) this.onProgress({ step, bytes, total })
      this.throwIfStopped()
    }
  }

  /** @throws the reason of the signal */
  throwIfStopped () {
    if (this.signal?.aborted) throw this.signal.reason
  }
}

/**
 * @param {string} of the function
 * @param {string[]} own options, all of them booleans
 * @param {string[]} [others] that the caller checks
 * @returns {(options: any) => Work} throws flumelog:invalid
 */
function workFor (of, own, others = []) {
  const checkNames = optionNames(of, [...others, ...own, 'onProgress', 'signal'])
  return (options) => {
    checkNames(options)
    for (const name of own) if (options[name] !== undefined) mustBeBoolean(name, options[name])
    return new Work(options)
  }
}

/**
 * @param {string} name of the argument
 * @param {unknown} value
 * @throws flumelog:invalid
 */
function mustBePath (name, value) {
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return
  throw errors.invalid(`${name} must be the path of a file; it is ${format(value)}`)
}

module.exports = { Work, workFor, mustBePath }
