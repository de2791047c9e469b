// The global objects of Node.js that async-append-only-log uses, as bundlers provide them.

export { Buffer } from 'buffer'
