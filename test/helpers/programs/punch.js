'use strict'

// Punches a part of a file, and reports whether that freed space.

const { promisify } = require('util')
const { pathFile } = require('../../../lib/storage/path-file')
const { argument, tell } = require('../processes')

async function main ({ filename, size, offset, length }) {
  const file = pathFile(filename, { readOnly: false, lock: false })
  await promisify(file.open)()
  await promisify(file.write)(0, Buffer.alloc(size, 7))
  const before = file.canPunch()
  await promisify(file.punch)(offset, length)
  tell({ before, after: file.canPunch() })
  await promisify(file.close)()
}

main(argument())
