'use strict'

// When preloaded, sends this process a signal: TEST_SIGNAL, before call number TEST_CALL of TEST_NAME, which is in fs, in fs.promises
// (promises.NAME), or of the files that fs.promises opens (handle.NAME).

const fs = require('fs')

const { TEST_SIGNAL, TEST_NAME, TEST_CALL } = process.env
const [name, place] = TEST_NAME.split('.').reverse()
let calls = 0

if (place === 'handle') {
  const { open } = fs.promises
  fs.promises.open = async (...args) => {
    const handle = await open(...args)
    replaceIn(handle)
    return handle
  }
} else replaceIn(place === 'promises' ? fs.promises : fs)

function replaceIn (from) {
  const call = from[name]
  const replaced = (...args) => atCall(from, () => call.apply(from, args))
  // with what util.promisify goes by
  from[name] = Object.defineProperties(replaced, Object.getOwnPropertyDescriptors(call))
}

function atCall (from, run) {
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
