'use strict'

// Appends numbered records until that fails, reports the number, and tries again on any
// message.

const FlumeLog = require('../../..')
const { argument, tell, listen } = require('../processes')
const { numbered } = require('../numbered')
const { promises } = require('../promises')

const { file, options } = argument()
const log = promises(FlumeLog(file, options))
let number = 0

listen(({ count, close }) => {
  if (close) log.close().then(() => tell({ what: 'closed' }), tellError)
  else append(count)
})
append(Infinity)

async function append (count) {
  const until = number + count
  try {
    while (number < until) {
      await log.append(numbered(number + 1, 1000))
      number++
    }
    tell({ what: 'appended', number })
  } catch (err) {
    tellError(err)
  }
}

function tellError ({ code, message }) {
  tell({ what: 'failed', number, code, message })
}
