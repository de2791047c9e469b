'use strict'

// Prints the records of a stream, as fast as the reader of standard output takes them.

/**
 * @param {import('./open').Log} log
 * @param {import('../lib/read/options').StreamOptions} options
 * @param {import('./output').Output} output
 * @param {(data: Buffer, seq: number) => boolean | void} print false: no more are wanted
 * @param {AbortSignal} [stopped] ends a live stream
 * @returns {Promise<void>} resolves at the end of the stream, or when it is stopped
 */
function printRecords (log, options, output, print, stopped) {
  const source = log.stream({ ...options, cache: false })
  const isLive = options.live || options.old === false

  return new Promise((resolve, reject) => {
    let reading = false
    /** Whether the source has answered the last call synchronously, with a record. */
    let hasAnswered = false

    stopped?.addEventListener('abort', () => source(true, () => resolve()))
    read()

    /** Reads until the source has to wait for a record, or the output is full. */
    function read () {
      reading = true
      do {
        if (output.isFull) {
          output.ondrain = read
          break
        }
        hasAnswered = false
        source(null, onrecord)
      } while (hasAnswered)
      reading = false
      if (isLive && !hasAnswered) output.flush()
    }

    /**
     * @param {true | Error | null} end
     * @param {{ seq: number, value: Buffer }} record
     */
    function onrecord (end, record) {
      if (end === true) return resolve()
      if (end) return reject(end)
      let isLast
      try {
        isLast = print(record.value, record.seq) === false
      } catch (err) {
        source(true, () => {})
        return reject(err)
      }
      if (isLast) return source(true, () => resolve())
      hasAnswered = true
      if (!reading) read()
    }
  })
}

module.exports = { printRecords }
