'use strict'

// ssb-db2 and jitdb on one log or the other, and messages for them.

const path = require('path')
const { promisify } = require('util')

const TYPES = ['post', 'vote', 'about', 'contact']
const WORDS = 'a log is a row of blocks and each of them is a row of records that are read one after the other until there are no more'.split(' ')
/** When the first message was published; the next ones follow a second apart. */
const BEGIN = Date.UTC(2026, 0, 1)
const FEEDS = 10

/** What ssb-db2 requires, in the process of a row: its package may be there more than once. */
const asyncLog = () => require.resolve('async-append-only-log', { paths: [require.resolve('ssb-db2')] })

/** The logs that are compared. `load` returns the module. */
const logs = [
  { name: 'flumelog-random-access-file', load: () => require('../../packages/async-append-only-log') },
  { name: 'async-append-only-log', load: () => require(asyncLog()) }
]

/**
 * Signed messages of several feeds, the same in every run.
 * @param {number} count in all
 * @returns {object[][]} an array per feed
 */
function makeFeeds (count) {
  const classic = require('ssb-classic/format')
  const ssbKeys = require('ssb-keys')
  return Array.from({ length: FEEDS }, (_, feed) => {
    const keys = ssbKeys.generate('ed25519', Buffer.alloc(32, feed + 1))
    const messages = []
    let previous
    for (let n = 0; n < count / FEEDS; n++) {
      const value = classic.newNativeMsg({ keys, previous, timestamp: BEGIN + 1000 * n, content: contentOf(n) })
      messages.push(value)
      previous = { key: classic.getMsgId(value), value }
    }
    return messages
  })
}

/** @param {number} n */
function contentOf (n) {
  const words = Array.from({ length: 10 + n % 40 }, (_, i) => WORDS[(n * 7 + i) % WORDS.length])
  return { type: TYPES[n % TYPES.length], text: words.join(' '), n }
}

/**
 * The records that ssb-db2 stores of messages.
 * @param {object[][]} feeds
 * @returns {Buffer[]}
 */
function recordsOf (feeds) {
  const bipf = require('bipf')
  const classic = require('ssb-classic/format')
  return feeds.flat().map(value => bipf.allocAndEncode({ key: classic.getMsgId(value), value, timestamp: value.timestamp }))
}

/**
 * Loads all packages, which is not measured. A process can use one kind of log only.
 * @param {{ load: () => Function }} log
 */
function loadAll ({ load }) {
  const Log = load()
  require(asyncLog())
  require.cache[asyncLog()].exports = Log
  for (const name of ['jitdb', 'secret-stack', 'ssb-classic/format', 'ssb-db2', 'ssb-db2/operators', 'ssb-db2/seekers']) require(name)
}

/**
 * @param {{ load: () => Function }} log
 * @param {string} folder
 * @returns {{ db: object, close: () => Promise<void> }}
 */
function startSsb (log, folder) {
  loadAll(log)
  const keys = require('ssb-keys').generate('ed25519', Buffer.alloc(32, FEEDS + 1))
  const start = require('secret-stack')({ appKey: require('ssb-caps').shs }).use(require('ssb-db2'))
  // without a server
  const sbot = start({ keys, path: folder, connections: { incoming: {}, outgoing: {} } })
  return { db: sbot.db, close: () => promisify(sbot.close)(true) }
}

/**
 * @param {{ load: () => Function }} log
 * @param {string} folder of ssb-db2
 * @returns {object} the log of ssb-db2, opened as it opens it
 */
function openLog ({ load }, folder) {
  return load()(path.join(folder, 'db2', 'log.bipf'), { blockSize: 65536 })
}

module.exports = { logs, makeFeeds, recordsOf, loadAll, startSsb, openLog }
