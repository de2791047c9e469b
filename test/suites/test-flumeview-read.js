'use strict'

// Part of test-flumeview-index, as published, with flumeview-level.

const create = require('../helpers/flumeview')

require('test-flumeview-index/read')(create)
