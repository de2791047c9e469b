'use strict'

// A log that the command shows. When its file was moved, deleted or truncated, the log there is opened again as soon as there is one.

const FlumeLog = require('flumelog-random-access-file')
const { CopiedLog } = require('flumelog-random-access-file/blocks')
const { close } = require('flumelog-random-access-file/command')
const { Handler } = require('../http/handler')

/** Bytes: what is looked at again, as when the reader scrolls back, need not be read again. */
const CACHE_SIZE = 16 * 1024 * 1024

class ShownFile {
  /**
   * @param {string} file
   * @param {import('../types').ViewOptions} options
   * @param {import('../http/handler').AllTurns} [turns] those of all logs of a list
   */
  constructor (file, options, turns) {
    this.file = file
    this.options = options
    this.turns = turns
    /** @type {Handler | null} */
    this.handler = null
    /** @type {Promise<unknown> | null} */
    this.opening = null
  }

  /** @returns {Promise<this>} rejects if there is no log that can be opened */
  async open () {
    const log = FlumeLog(this.file, { readOnly: true, large: true, cacheSize: CACHE_SIZE })
    await new Promise((resolve, reject) => log.onReady(err => err ? reject(err) : resolve(undefined)))
    const previous = this.handler
    // another file has another number, and its records other offsets; the path may lead to another one by now
    this.handler = new Handler(log, this.options, { file: String(new CopiedLog(log).status().ino), turns: this.turns })
    if (previous !== null) await close(previous.log.log)
    return this
  }

  /** @returns {Promise<Handler>} of the log that is there; if it cannot be read, the handler says why. Rejects if none could be opened so far */
  async ready () {
    const isReady = this.handler !== null && await this.handler.log.ready().then(() => true, () => false)
    if (!isReady) {
      this.opening ??= this.open().finally(() => { this.opening = null })
      await this.opening.catch(err => { if (this.handler === null) throw err })
    }
    return /** @type {Handler} */ (this.handler)
  }

  /**
   * @param {import('http').IncomingMessage} request
   * @param {import('http').ServerResponse} response
   */
  async handle (request, response) {
    const handler = await this.ready()
    handler.handle(request, response)
  }

  async close () {
    if (this.handler !== null) await close(this.handler.log.log)
  }
}

module.exports = { ShownFile }
