'use strict'

// The suite every flumelog has to pass, as published, run on a client of a shared log.

const path = require('path')
const suite = require('test-flumelog')
const codec = require('flumecodec').json
const FlumeLog = require('../..')
const { processFolder } = require('../helpers/folder')

const file = path.join(processFolder(), 'log')
const options = { codec, blockSize: 1024, shared: true }

const owner = FlumeLog(file, options)
owner.onReady((err) => {
  if (err) throw err
  suite(() => FlumeLog(file, options), () => {})
})
