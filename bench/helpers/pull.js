'use strict'

// Drains pull-streams and push-streams.

const pull = require('pull-stream')

/**
 * @param {Function} source a pull-stream
 * @param {(item: any) => void} onItem
 */
function drain (source, onItem) {
  return new Promise((resolve, reject) => {
    pull(source, pull.drain((item) => { onItem(item) }, (err) => err ? reject(err) : resolve()))
  })
}

/**
 * @param {{ pipe: (sink: object) => void }} stream a push-stream
 * @param {(item: any) => void} onItem
 */
function drainPush (stream, onItem) {
  return new Promise((resolve, reject) => {
    stream.pipe({ paused: false, write: onItem, end: (err) => err && err !== true ? reject(err) : resolve() })
  })
}

module.exports = { drain, drainPush }
