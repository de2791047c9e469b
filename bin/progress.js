'use strict'

// Shows progress on stderr, if that is a terminal and the operation takes long enough.

const { count, size } = require('./numbers')

/** Milliseconds before anything is drawn. */
const DELAY = 300
const MAX_BAR = 40
/** Columns left free, so that a ^C echoed by the terminal does not wrap. */
const MARGIN = 5
/** DECAWM: whether text goes on in the next line. https://vt100.net/docs/vt510-rm/DECAWM.html */
const NO_WRAP = '\x1b[?7l'
const WRAP = '\x1b[?7h'

/**
 * @typedef {object} Progress
 * @property {(done: number, total?: number) => void} update
 * @property {() => void} stop clears it from the screen
 */

/** @type {Progress} */
const INVISIBLE = { update () {}, stop () {} }

/** @type {NodeJS.Signals[]} */
const SIGNALS = ['SIGINT', 'SIGTERM']

/** What is on the screen. @type {Progress | null} */
let shown = null

/**
 * A bar, for a known number of bytes.
 * @param {string} verb
 * @returns {Progress}
 */
function byteProgress (verb) {
  /** Bytes that were done before: what is continued. @type {number | null} */
  let first = null
  const { update, stop } = progress((done, total, seconds, width) => {
    const share = total === 0 ? 1 : Math.min(1, done / total)
    const parts = [`${String(Math.floor(share * 100)).padStart(3)}%`, `${size(done)} of ${size(total)}`]
    const rate = (done - (first ?? 0)) / seconds
    if (rate > 0) parts.push(`${duration(Math.max(0, total - done) / rate)} left`, `${size(rate)}/s`)
    const room = width - MARGIN - verb.length - 2
    while (parts.length > 1 && parts.join('  ').length > room) parts.pop()
    const text = parts.join('  ')
    return `${verb} ${bar(share, Math.min(MAX_BAR, room - text.length))} ${text}`
  })
  return {
    update (done, total) {
      // most work starts at the start, and tells so after the first piece
      first ??= total !== undefined && done > total / 100 ? done : 0
      update(done, total)
    },
    stop
  }
}

/**
 * A count and a rate, for an unknown number of records.
 * @param {string} verb
 * @returns {Progress}
 */
function recordProgress (verb) {
  return progress((done, total, seconds) => {
    return `${verb} ${count(done)} records  ${count(seconds === 0 ? 0 : done / seconds)} records/s  ${duration(seconds)}`
  })
}

/**
 * For what ends when it is told to.
 * @param {() => string} describe
 * @returns {{ update: () => void, stop: () => void }}
 */
function statusLine (describe) {
  let text = ''
  const { update, stop } = progress((done, total, seconds) => `${text}  ${duration(seconds)}`)
  return {
    update () {
      text = describe()
      update(0)
    },
    stop
  }
}

/**
 * @param {(done: number, total: number, seconds: number, width: number) => string} format
 * @returns {Progress}
 */
function progress (format) {
  // a dumb terminal cannot redraw a line
  if (!process.stderr.isTTY || process.env.TERM === 'dumb') return INVISIBLE
  // loaded lazily: most runs do not need it
  const { SingleBar } = require('cli-progress')
  const startedAt = performance.now()
  let isOver = false
  const frame = new Frame()
  const bar = new SingleBar({
    // it writes to anything that looks like a terminal
    stream: /** @type {any} */ (frame),
    clearOnComplete: true,
    linewrap: true,
    gracefulExit: false,
    format: (/** @type {object} */ _, /** @type {{ value: number, total: number, maxWidth: number }} */ { value, total, maxWidth }) =>
      format(value, total, (performance.now() - startedAt) / 1000, maxWidth).slice(0, Math.max(0, maxWidth - MARGIN))
  })
  // its types do not say that it is an emitter
  const emitter = /** @type {import('events').EventEmitter} */ (/** @type {unknown} */ (bar))
  emitter.on('redraw-post', () => frame.show())
  /** @type {Progress} */
  const self = {
    update (done, total = 0) {
      if (isOver) return
      if (shown === self) return bar.update(done)
      if (performance.now() - startedAt < DELAY) return
      shown = self
      process.once('exit', self.stop)
      for (const name of SIGNALS) if (process.listenerCount(name) === 0) process.once(name, endBySignal)
      bar.start(total, done)
    },
    stop () {
      isOver = true
      if (shown !== self) return
      shown = null
      process.removeListener('exit', self.stop)
      for (const name of SIGNALS) process.removeListener(name, endBySignal)
      bar.stop()
      frame.show()
    }
  }
  return self
}

/**
 * What is drawn at a time, as one write. When Ctrl-C is typed, the terminal drops what it has not shown yet: of several
 * writes, it could drop the return to the start of the line, and show the text that follows.
 */
class Frame {
  constructor () {
    this.isTTY = true
    this.text = ''
  }

  get columns () { return process.stderr.columns }

  /** @param {string} text */
  write (text) {
    this.text += text
    return true
  }

  show () {
    if (this.text !== '') process.stderr.write(NO_WRAP + this.text + WRAP)
    this.text = ''
  }
}

/**
 * For commands that a signal ends at once.
 * @param {NodeJS.Signals} name
 */
function endBySignal (name) {
  shown?.stop()
  process.kill(process.pid, name)
}

/**
 * Terminals echo Ctrl-C as ^C: clears it together with the progress that it follows, or
 * ends its line.
 */
function clearInterrupt () {
  if (shown !== null) shown.stop()
  else if (process.stderr.isTTY) process.stderr.write('\n')
}

/** Before the program ends in the middle of it. */
function clearProgress () {
  shown?.stop()
}

/**
 * @param {number} share from 0 to 1
 * @param {number} width
 */
function bar (share, width) {
  if (width < 4) return ''
  const full = Math.round(share * width)
  return '█'.repeat(full) + '░'.repeat(width - full)
}

/**
 * @param {number} seconds
 * @returns {string} 5 s, 2 min 5 s
 */
function duration (seconds) {
  const whole = Math.round(seconds)
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`
}

module.exports = { byteProgress, recordProgress, statusLine, duration, clearInterrupt, clearProgress }
