'use strict'

// The process of one row: makes its input, or runs the row once, and reports the result to
// the parent process.

const path = require('path')

// the parent is gone
process.on('disconnect', () => process.exit())

main(JSON.parse(process.argv[2]))

/** @param {{ file: string, size: string, group: number, row: number, input?: string, scratch: string, task: 'make' | 'run' }} order */
async function main ({ file, size, group, row, input, scratch, task }) {
  const { groups } = require(path.join(__dirname, '..', file))
  const wanted = groups(size)[group].rows[row]
  try {
    if (task === 'make') {
      await wanted.input.make(input)
      return report({ measures: [] })
    }
    const measures = [await wanted.run({ input, scratch, size })].flat()
    report({ measures })
  } catch (err) {
    report({ error: explain(err) })
  }
}

function explain (err) {
  // its message has paths of this machine
  if (err?.code === 'ERR_DLOPEN_FAILED') return 'its package was compiled for another version of Node.js, see bench/README.md'
  return String(err?.message ?? err).split('\n')[0]
}

/** @param {object} answer */
function report (answer) {
  // exits even if a peer has left something open
  process.send(answer, () => process.exit())
}
