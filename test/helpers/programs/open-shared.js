'use strict'

// Opens a shared log, and tells the code of its error. Nothing else keeps this process alive.

const { open } = require('../../../promises')
const { argument, tell } = require('../processes')

const { file, timeout } = argument()

open(file, { shared: true, timeout }).then(() => tell('opened'), err => tell(err.code))
