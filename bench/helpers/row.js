'use strict'

// The process of one row: makes its input, or measures it once, and tells the
// process that started it.

const path = require('path')

// nobody waits for an answer any more
process.on('disconnect', () => process.exit())

main(JSON.parse(process.argv[2]))

/** @param {{ file: string, size: string, group: number, row: number, input?: string, scratch: string, task: 'make' | 'run' }} order */
async function main ({ file, size, group, row, input, scratch, task }) {
  const { groups } = require(path.join(__dirname, '..', file))
  const wanted = groups(size)[group].rows[row]
  try {
    if (task === 'make') {
      await wanted.input.make(input)
      return tell({ measures: [] })
    }
    const measures = [await wanted.run({ input, scratch, size })].flat()
    // maxRSS is in KiB
    const peakMemory = process.resourceUsage().maxRSS * 1024
    tell({ measures: measures.map(measure => ({ peakMemory, ...measure })) })
  } catch (err) {
    tell({ error: String(err?.message ?? err).split('\n')[0] })
  }
}

/** @param {object} answer */
function tell (answer) {
  // what a peer has left open must not keep the process alive
  process.send(answer, () => process.exit())
}
