'use strict'

// Starts one of several processes, and talks to it. It answers each message with one, and says first that it is ready.

const { fork } = require('child_process')
const { once } = require('events')

class Participant {
  /**
   * @param {string} program
   * @param {object} order what it is to do
   */
  constructor (program, order) {
    this.child = fork(program, [JSON.stringify(order)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    this.exited = once(this.child, 'exit')
    this.ready = this.answer()
  }

  /**
   * @param {object} message
   * @returns {Promise<any>} its answer
   */
  ask (message) {
    const answer = this.answer()
    // one that cannot be sent is answered by the exit
    this.child.send(message, () => {})
    return answer
  }

  /** @returns {Promise<any>} the next message; fails if it reports an error, or exits */
  async answer () {
    const exited = this.exited.then(([code, signal]) => ({ error: `a process exited without an answer (${signal ?? code})` }))
    const message = await Promise.race([once(this.child, 'message').then(([message]) => message), exited])
    if (message.error !== undefined) throw new Error(message.error)
    return message
  }

  /** Has it close what it has open, and exit. */
  async close () {
    await this.ask({ close: true })
    this.child.disconnect()
    await this.exited
  }

  async kill () {
    this.child.kill('SIGKILL')
    await this.exited
  }
}

/**
 * The other side, within the process: reports that it is ready, and answers messages. The process ends with its parent.
 * @param {(order: any) => Promise<(message: any) => Promise<object | void>>} open resolves to what answers messages
 */
async function participate (open) {
  process.on('disconnect', () => process.exit())
  try {
    const answer = await open(JSON.parse(process.argv[2]))
    process.on('message', (message) => { answer(message).then(result => process.send(result ?? {}), fail) })
    process.send({ ready: true })
  } catch (err) {
    fail(err)
  }
}

function fail (err) {
  process.send({ error: String(err?.message ?? err).split('\n')[0] }, () => process.exit(1))
}

module.exports = { Participant, participate }
