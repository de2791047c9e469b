// The global objects of Node.js, for a store that was written for it.

import globals from '../lib/node/globals.js'

export { Buffer } from 'buffer'
export const { process, setTimeout, clearTimeout, setImmediate, clearImmediate } = globals
