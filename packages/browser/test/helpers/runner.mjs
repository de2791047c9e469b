/* global self */

// Runs in a worker what a test sends as text.

import * as log from './log.mjs'

self.onmessage = async ({ data: { code, argument } }) => {
  try {
    // eslint-disable-next-line no-eval
    self.postMessage({ result: await (0, eval)(`(${code})`)(log, argument) })
  } catch (err) {
    self.postMessage({ failed: `${err.stack}` })
  }
}
