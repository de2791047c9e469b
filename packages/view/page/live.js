// Follows the log while the page is seen: what is appended, and how fast. Connects again when the connection is lost.

import { events, isAborted } from './api.js'

const RETRY = 2000

export class Live {
  /**
   * @param {Record<string, (data: any) => void>} handlers by the event's name
   * @param {(isConnected: boolean) => void} onStatus
   * @param {(err: Error) => void} onRefused told what the reader has to do
   */
  constructor (handlers, onStatus, onRefused) {
    this.handlers = handlers
    this.onStatus = onStatus
    this.onRefused = onRefused
    this.stopping = new window.AbortController()
  }

  /** @param {() => { from: number, id: string, encoding: string }} place where to go on */
  async run (place) {
    const stop = this.stopping.signal
    while (!stop.aborted) {
      await whenSeen()
      if (stop.aborted) return
      // a browser has six connections to a server for all tabs, and for pages that it keeps for its Back button
      const signal = window.AbortSignal.any([stop, hidden()])
      const handlers = Object.fromEntries(Object.entries(this.handlers).map(([name, handler]) => [name, (data) => {
        if (signal.aborted) return
        this.onStatus(true)
        handler(data)
      }]))
      try {
        await events('live', place(), handlers, signal)
      } catch (err) {
        if (stop.aborted) return
        if (isAborted(err) && document.hidden) continue
        if (err.status === 403) this.onRefused(err)
      } finally {
        this.onStatus(false)
      }
      await new Promise(resolve => window.setTimeout(resolve, RETRY))
    }
  }

  stop () {
    this.stopping.abort()
  }
}

/** @returns {Promise<void>} */
function whenSeen () {
  if (!document.hidden) return Promise.resolve()
  return new Promise(resolve => document.addEventListener('visibilitychange', () => resolve(whenSeen()), { once: true }))
}

/** @returns {AbortSignal} aborted when the page is not seen any more */
function hidden () {
  const leaving = new window.AbortController()
  document.addEventListener('visibilitychange', () => leaving.abort(), { once: true })
  return leaving.signal
}
