'use strict'

// Follows a log of numbered records, and reports its progress, the numbers it missed, and
// invalid records. On the message `{ look: true }`, it reports `since`.

const pull = require('pull-stream')
const FlumeLog = require('../../..')
const { argument, tell, listen } = require('../processes')
const { isIntact, numberOf } = require('../numbered')

const { file, options, streams = true } = argument()
const log = FlumeLog(file, { ...options, readOnly: true })
const seen = { count: 0, number: 0, missing: [] }
let telling = false

listen(({ look, close }) => {
  if (look) tell({ what: 'since', since: log.since.value })
  if (close) log.close(err => tell({ what: 'closed', code: err?.code }))
})

log.onReady((err) => {
  tell(err ? { what: 'refused', code: err.code } : { what: 'opened', size: log.stats().size, blockSize: log.blockSize })
  if (err) return
  log.since(since => tell({ what: 'moved', since }))
  if (streams) pull(log.stream({ live: true }), pull.drain(look, ended))
})

function look ({ seq, value }) {
  const number = numberOf(value)
  if (!isIntact(value)) tell({ what: 'wrong', why: `at ${seq} is no whole record` })
  if (number <= seen.number) tell({ what: 'wrong', why: `record ${number} after record ${seen.number}` })
  for (let missing = seen.number + 1; missing < number; missing++) seen.missing.push(missing)
  seen.number = number
  seen.count++
  if (telling) return
  telling = true
  setImmediate(() => {
    telling = false
    tell({ what: 'at', ...seen })
    seen.missing = []
  })
}

function ended (err) {
  tell({ what: 'ended', code: err?.code, message: err?.message })
}
