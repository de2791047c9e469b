'use strict'

// Preloaded by test/run.js in all processes: without these, Node.js can wait for ever when a process ends, if a function is being compiled in
// another thread that needs a garbage collection (https://github.com/nodejs/node/issues/54918).

const v8 = require('v8')

for (const flag of ['--no-maglev', '--no-concurrent-sparkplug']) v8.setFlagsFromString(flag)
