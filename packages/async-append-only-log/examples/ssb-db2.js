'use strict'

// ssb-db2 on this log: 10,000 messages by ten authors, queries, a feed that is deleted, a compaction.
//
//     npm install flumelog-random-access-file flumelog-async-append-only-log secret-stack@6 ssb-caps ssb-db2 ssb-keys
//     node ssb-db2.js [FOLDER]

const fs = require('fs')
const os = require('os')
const path = require('path')
const { promisify } = require('util')
const AsyncLog = require('flumelog-async-append-only-log')

// ssb-db2 requires async-append-only-log, and gets this log
const replaced = require.resolve('async-append-only-log', { paths: [require.resolve('ssb-db2')] })
require(replaced)
require.cache[replaced].exports = AsyncLog

const caps = require('ssb-caps')
const SecretStack = require('secret-stack')
const ssbKeys = require('ssb-keys')
const { where, and, author, type, count, descending, paginate, toPromise } = require('ssb-db2/operators')

const folder = process.argv[2] ?? fs.mkdtempSync(path.join(os.tmpdir(), 'ssb-db2-'))
const TYPES = ['post', 'vote', 'about', 'contact']
const AUTHORS = 10
const MESSAGES = 1000

/** Appends the messages of one author, each of which refers to the one before. */
async function publish (db, keys) {
  for (let n = 0; n < MESSAGES; n++) {
    const content = { type: TYPES[n % TYPES.length], text: `message ${n}` }
    await new Promise((resolve, reject) => db.create({ keys, content }, (err) => err ? reject(err) : resolve()))
  }
}

async function main () {
  fs.mkdirSync(folder, { recursive: true })
  const keys = ssbKeys.loadOrCreateSync(path.join(folder, 'secret'))
  const start = SecretStack({ appKey: caps.shs }).use(require('ssb-db2'))
  // no connections to peers
  const sbot = start({ keys, path: folder, connections: { incoming: {}, outgoing: {} } })
  const { db } = sbot
  const countOf = (...what) => db.query(where(and(...what)), count(), toPromise())
  const megabytes = async () => ((await promisify(db.logStats)()).totalBytes / 1e6).toFixed(1)

  const feeds = Array.from({ length: AUTHORS }, () => ssbKeys.generate())
  await Promise.all(feeds.map(feed => publish(db, feed)))
  const [ada, grace] = feeds.map(({ id }) => id)
  console.log(`${await countOf(author(ada))} messages by Ada, ${await countOf(author(ada), type('post'))} of them posts`)
  const { results } = await db.query(where(and(author(grace), type('vote'))), descending(), paginate(2), toPromise())
  console.log(`the last votes by Grace: ${results.map(({ value }) => value.content.text).join(', ')}`)

  const before = await megabytes()
  await promisify(db.deleteFeed)(ada)
  await promisify(db.compact)()
  // counts include deleted messages until then
  console.log(`her feed is deleted: ${await countOf(author(ada))} messages by Ada, ${await countOf(author(grace))} by Grace`)
  console.log(`compacted from ${before} MB to ${await megabytes()} MB`)
  console.log(`${await countOf(type('post'))} posts in all`)

  await promisify(sbot.close)(true)
}

main()
