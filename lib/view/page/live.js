// Follows the log: what is appended, and how fast. Connects again when the connection is lost.

import { events, isAborted } from './api.js'

const RETRY = 2000

export class Live {
  /**
   * @param {Record<string, (data: any) => void>} handlers by the event's name
   * @param {(isConnected: boolean) => void} onStatus
   */
  constructor (handlers, onStatus) {
    this.handlers = handlers
    this.onStatus = onStatus
    this.stopping = new window.AbortController()
  }

  /** @param {() => { from: number, encoding: string }} place where to go on */
  async run (place) {
    const { signal } = this.stopping
    while (!signal.aborted) {
      try {
        const isConnected = () => this.onStatus(true)
        const handlers = Object.fromEntries(Object.entries(this.handlers).map(([name, handler]) => [name, (data) => {
          isConnected()
          handler(data)
        }]))
        await events('live', place(), handlers, signal)
      } catch (err) {
        if (isAborted(err)) return
      }
      this.onStatus(false)
      await new Promise(resolve => window.setTimeout(resolve, RETRY))
    }
  }

  stop () {
    this.stopping.abort()
  }
}
