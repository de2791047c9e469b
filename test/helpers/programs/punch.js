'use strict'

// Punches a part of a file, and reports whether that freed space.

const { pathFile } = require('../../../lib/storage/path-file')
const { argument, tell } = require('../processes')

async function main ({ filename, size, offset, length }) {
  const file = pathFile(filename, { readOnly: false, lock: false })
  await file.io.open()
  await file.io.write(0, Buffer.alloc(size, 7))
  const before = file.canPunch()
  await file.io.punch(offset, length)
  tell({ before, after: file.canPunch() })
  await file.io.close()
}

main(argument())
