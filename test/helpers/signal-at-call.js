'use strict'

// When preloaded, sends this process a signal: TEST_SIGNAL, before call number TEST_CALL of TEST_NAME, which is in fs or fs.promises.

const fs = require('fs')

const { TEST_SIGNAL, TEST_NAME, TEST_CALL } = process.env
const from = TEST_NAME.startsWith('promises.') ? fs.promises : fs
const name = TEST_NAME.replace('promises.', '')
const call = from[name]
let calls = 0

function replaced (...args) {
  if (++calls === Number(TEST_CALL)) process.kill(process.pid, TEST_SIGNAL)
  return call.apply(this, args)
}

// with what util.promisify goes by
from[name] = Object.defineProperties(replaced, Object.getOwnPropertyDescriptors(call))
