'use strict'

// The suite every flumelog has to pass, as published.

const path = require('path')
const suite = require('test-flumelog')
const codec = require('flumecodec').json
const FlumeLog = require('../..')
const { processFolder } = require('../helpers/folder')

const folder = processFolder()

suite((filename) => FlumeLog(path.join(folder, path.basename(filename)), { codec, blockSize: 1024 }), () => {})
