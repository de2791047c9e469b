// The global objects of Node.js, as esbuild puts them in the place of each use.

export { Buffer, process, setTimeout, clearTimeout, setImmediate, clearImmediate } from './globals.js'
