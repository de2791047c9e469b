'use strict'

// Run under the permission model: prints what opening a log in every way comes to, one JSON
// value per line.

const fs = require('fs')
const path = require('path')
const { open } = require('../../../promises')
const { argument, tell } = require('../processes')

const { allowed, filled, denied } = argument()

async function main () {
  process.on('warning', ({ code }) => { if (code?.startsWith('FLUMELOG')) tell({ warning: code }) })
  tell({ canFsync: await canFsync() })
  for (const [name, file, options] of [
    ['allowed', allowed, {}], ['readOnly', filled, { readOnly: true }], ['denied', denied, {}],
    ['required', filled, { lock: 'required' }], ['shared', filled, { shared: true }]
  ]) {
    await use(file, options).then(records => tell({ name, records }), ({ code, message }) => tell({ name, code, message }))
  }
}

async function use (file, options) {
  const log = await open(file, options)
  try {
    if (!options.readOnly) {
      for (let i = 0; i < 100; i++) await log.append(`record ${i}`)
      await log.append(['an', 'array'], { atomic: true })
      await log.append('synced', { sync: true })
      await log.del(0)
    }
    const records = []
    for await (const { value } of log.stream()) records.push(String(value))
    return records.length
  } finally {
    await log.close()
  }
}

async function canFsync () {
  const handle = await fs.promises.open(path.join(path.dirname(allowed), 'probe'), 'w')
  try {
    await handle.datasync()
    return true
  } catch {
    return false
  } finally {
    await handle.close()
  }
}

main()
