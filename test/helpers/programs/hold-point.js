'use strict'

// Writes a recovery point and keeps it. Sent `{ publish: offset }` it publishes, sent
// `{ publishMany: n }` it publishes n offsets in a row, sent `{ write: point }` it replaces it.

const fs = require('fs')
const { argument, tell, listen } = require('../processes')
const { pointFile } = require('../../../lib/storage/recovery-point')

const { filename, folder, point: first } = argument()
const point = pointFile(filename, folder, () => fs.promises.stat(__filename))

listen(({ publish, publishMany, write }) => {
  if (publish !== undefined) {
    point.publish(publish)
    tell({ what: 'published' })
  }
  if (publishMany !== undefined) {
    // offsets of which every digit differs from that of the one before
    for (let i = 0; i < publishMany; i++) point.publish(Number(String(i % 9 + 1).repeat(15)))
    tell({ what: 'published' })
  }
  if (write !== undefined) put(write)
})
put(first)

function put (next) {
  point.write(next, (err) => tell({ what: err ? 'failed' : 'written', code: err?.code }))
}
