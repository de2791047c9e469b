// The global objects of Node.js, as esbuild puts them in the place of each use.

import globals from './globals.js'

export const { Buffer, process, setTimeout, clearTimeout, setImmediate, clearImmediate } = globals
