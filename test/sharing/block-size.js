'use strict'

// A shared log has one block size, which its clients learn from the owner.

const test = require('tape')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { promises } = require('../helpers/promises')

test('a client has the block size of the owner, and one that was given another one cannot open the log', async (t) => {
  const file = testFolder(t)('log')
  const owner = promises(FlumeLog(file, { shared: true, blockSize: 64 }))
  await owner.append('a record')
  const client = promises(FlumeLog(file, { shared: true }))
  await client.onReady()
  t.equal(client.log.role, 'client')
  t.equal(client.log.blockSize, 64)

  const other = promises(FlumeLog(file, { shared: true, blockSize: 128 }))
  const error = await other.onReady().catch(err => err)
  t.equal(error.code, 'flumelog:block-size')
  t.equal(error.blockSize, 64)
  t.match(error.message, /log: blockSize is 128, but the file has blocks of 64 bytes$/)
  await other.close()
  await client.append('another')
  await client.close()
  await owner.close()
})
