'use strict'

// When preloaded, sends this process a signal: TEST_SIGNAL, before call number TEST_CALL of TEST_NAME, which is in fs or fs.promises.

const fs = require('fs')

const { TEST_SIGNAL, TEST_NAME, TEST_CALL } = process.env
const from = TEST_NAME.startsWith('promises.') ? fs.promises : fs
const name = TEST_NAME.replace('promises.', '')
const call = from[name]
let calls = 0

function replaced (...args) {
  const run = () => call.apply(this, args)
  if (++calls !== Number(TEST_CALL)) return run()
  const mayWait = process.listenerCount(TEST_SIGNAL) > 0 && !name.endsWith('Sync')
  const handled = mayWait ? signalled() : null
  process.kill(process.pid, TEST_SIGNAL)
  // on Deno, it comes some time later
  const result = handled === null ? run() : handled.then(run)
  return handled === null || from !== fs ? result : undefined
}

async function signalled () {
  // that a signal may come does not keep the process alive
  const timer = setInterval(() => {}, 1000)
  await new Promise(resolve => process.once(TEST_SIGNAL, resolve))
  clearInterval(timer)
}

// with what util.promisify goes by
from[name] = Object.defineProperties(replaced, Object.getOwnPropertyDescriptors(call))
