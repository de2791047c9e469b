'use strict'

// Server-sent events: a reader that does not read is waited for, and one that is gone ends the work.

/** Milliseconds after which a reader that takes nothing is taken for gone. */
const PATIENCE = 30000
/** Milliseconds between events, so that both sides notice when the other one is gone. */
const HEARTBEAT = 15000

class EventStream {
  /** @param {import('http').ServerResponse} response */
  constructor (response) {
    this.response = response
    this.gone = new AbortController()
    response.on('close', () => this.end())
    // whatever would compress them would hold them back
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' })
    response.flushHeaders()
    this.heartbeat = setInterval(() => { if (!response.writableNeedDrain) response.write(':\n\n') }, HEARTBEAT)
    this.heartbeat.unref()
  }

  /** Aborted when the reader has gone. @returns {AbortSignal} */
  get signal () {
    return this.gone.signal
  }

  /**
   * @param {string} event its name
   * @param {object} data
   * @returns {Promise<void>} resolves when the reader has taken enough to be sent more, or has gone
   */
  send (event, data) {
    if (this.signal.aborted) return Promise.resolve()
    return written(this.response, `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`, this.signal)
  }

  end () {
    if (this.signal.aborted) return
    clearInterval(this.heartbeat)
    this.gone.abort()
    this.response.end()
  }
}

/**
 * @param {import('http').ServerResponse} response
 * @param {string} text
 * @param {AbortSignal} signal aborted when the response is closed
 * @returns {Promise<void>} resolves when more can be written, or nobody reads any more
 */
function written (response, text, signal) {
  if (response.write(text)) return Promise.resolve()
  return new Promise(resolve => {
    const timer = setTimeout(() => response.destroy(), PATIENCE)
    timer.unref()
    const done = () => {
      clearTimeout(timer)
      response.removeListener('drain', done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    response.on('drain', done)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}

module.exports = { EventStream, written }
