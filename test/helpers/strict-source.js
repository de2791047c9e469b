'use strict'

/**
 * A pull-stream source that fails a test when it is asked in a way that pull-streams
 * do not allow.
 * @param {import('tape').Test} t
 * @param {import('../../lib/read/source').Source} source
 * @returns {import('../../lib/read/source').Source}
 */
function strictSource (t, source) {
  let isAsked = false
  let hasEnded = false
  return (abort, cb) => {
    if (hasEnded) t.fail('it was asked after its end')
    if (abort) {
      hasEnded = true
      return source(abort, cb)
    }
    if (isAsked) t.fail('it was asked before it had answered')
    isAsked = true
    source(null, (end, item) => {
      isAsked = false
      hasEnded ||= Boolean(end)
      cb(end, item)
    })
  }
}

module.exports = { strictSource }
