'use strict'

/** What runs the tests. @type {'node' | 'bun' | 'deno'} */
const runtime = process.versions.bun !== undefined ? 'bun' : process.versions.deno !== undefined ? 'deno' : 'node'

module.exports = { runtime, isNode: runtime === 'node' }
