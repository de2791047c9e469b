'use strict'

// The published suites of the ecosystem, as they are.

const codec = require('flumecodec')
const FlumeLog = require('..')

require('test-flumelog')((filename) => FlumeLog(filename, { codec, blockSize: 1024 }), () => {})
