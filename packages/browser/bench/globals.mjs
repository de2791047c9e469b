// The global objects of Node.js that async-append-only-log uses.

import globals from '../lib/node/globals.js'

export { Buffer } from 'buffer'
export const { process, setTimeout, clearTimeout, setImmediate, clearImmediate } = globals
