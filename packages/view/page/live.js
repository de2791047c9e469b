// Asks again and again, while the page is seen, what has been appended. No connection is held: a browser has six to a server, for all windows.

import { get, isAborted } from './api.js'

/** Milliseconds between two requests while records are appended, and while none are. */
const BUSY = 250
const IDLE = 1000
/** The same between two samples of the append rate. */
const SAMPLE = 1000

export class Live {
  /**
   * @param {{ onNews: (news: { id: string, start: number, end: number, count: number }) => void | Promise<void>,
   *   onSample: (sample: { at: number, rate: number | null, lag: number | null }) => void,
   *   onStatus: (isLive: boolean) => void, onError: (err: Error) => void }} handlers onSample: of the append rate; null: it was not looked at
   */
  constructor (handlers) {
    this.handlers = handlers
    this.isLive = false
    /** What was told of the last failure. @type {string | null} */
    this.problem = null
  }

  /** @param {{ id: string, end: number }} log up to where it is known */
  async follow ({ id, end }) {
    const { onNews, onError } = this.handlers
    this.id = id
    this.end = end
    for (;;) {
      if (document.hidden) {
        this.tell(false)
        await whenSeen()
      }
      let count = 0
      try {
        const news = await get('live', { from: this.end, id: this.id })
        count = news.count
        this.tell(true)
        this.sample(news)
        this.id = news.id
        this.end = news.end
        await onNews(news)
        this.problem = null
      } catch (err) {
        if (isAborted(err)) return
        this.tell(false)
        // once: it may be dismissed
        if (err.message !== this.problem) onError(err)
        this.problem = err.message
      }
      await new Promise(resolve => window.setTimeout(resolve, count > 0 ? BUSY : IDLE))
    }
  }

  /** @param {boolean} isLive */
  tell (isLive) {
    if (isLive === this.isLive) return
    this.isLive = isLive
    this.sampledAt = Date.now()
    this.appended = 0
    // what comes while nobody looks is not known: the chart has a gap
    if (!isLive) this.handlers.onSample({ at: Date.now(), rate: null, lag: null })
    this.handlers.onStatus(isLive)
  }

  sample ({ count, lag }) {
    this.appended += count
    const at = Date.now()
    if (at - this.sampledAt < SAMPLE) return
    this.handlers.onSample({ at, rate: Math.round(this.appended / (at - this.sampledAt) * 10000) / 10, lag })
    this.sampledAt = at
    this.appended = 0
  }
}

/** @returns {Promise<void>} */
function whenSeen () {
  if (!document.hidden) return Promise.resolve()
  return new Promise(resolve => document.addEventListener('visibilitychange', () => resolve(whenSeen()), { once: true }))
}
