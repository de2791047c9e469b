'use strict'

// Writes a FILE.meta and keeps it. Sent `{ publish: offset }` it publishes, sent `{ publishMany: n }` it publishes n offsets in a row, sent
// `{ replace: metadata }` it replaces it.

const fs = require('fs')
const path = require('path')
const { argument, tell, listen } = require('../processes')
const { MetadataFile } = require('../../../lib/storage/metadata-file')

const { filename, metadata: first } = argument()
const file = new MetadataFile(filename, path.dirname(filename), () => fs.promises.stat(__filename))

listen(({ publish, publishMany, replace }) => {
  if (publish !== undefined) {
    file.publish(publish)
    tell({ what: 'published' })
  }
  if (publishMany !== undefined) {
    // offsets of which every digit differs from that of the one before
    for (let i = 0; i < publishMany; i++) file.publish(Number(String(i % 9 + 1).repeat(15)))
    tell({ what: 'published' })
  }
  if (replace !== undefined) put(replace)
})
put(first)

function put (metadata) {
  file.replace(metadata).then(() => tell({ what: 'written' }), err => tell({ what: 'failed', code: err.code }))
}
