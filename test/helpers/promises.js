'use strict'

// The calls of a log as promises.

const NAMES = ['append', 'get', 'del', 'trim', 'compact', 'sync', 'close', 'onReady', 'onDrain']

/** @param {import('../../lib/log').FlumeLog<any>} log */
function promises (log) {
  const made = { log }
  for (const name of NAMES) made[name] = promised(log[name])
  made.getPrevious = (seq) => new Promise((resolve, reject) => {
    log.getPrevious(seq, (err, value, seq) => err ? reject(err) : resolve({ seq, value }))
  })
  made.search = (compare) => new Promise((resolve, reject) => {
    log.search(compare, (err, seq, value) => err ? reject(err) : resolve({ seq, value }))
  })
  return made
}

/** Like util.promisify, which takes longer than to open a small log. */
function promised (call) {
  return (...args) => new Promise((resolve, reject) => {
    call(...args, (err, value) => err ? reject(err) : resolve(value))
  })
}

module.exports = { promises }
