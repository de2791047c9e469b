'use strict'

// How fast does flumedb append? Objects with a JSON codec, and one view (flumeview-reduce) that sums a field: until all are
// acknowledged, and the view has seen them. Appends start at once, as they do in programs, before anything is open.

const fs = require('fs')
const path = require('path')
const Flume = require('flumedb')
const Reduce = require('flumeview-reduce')
const { json } = require('flumecodec')
const { asFlumelog } = require('./flumelog')
const { drive } = require('./helpers/drive')
const { timePhases } = require('./helpers/rows')
const { RECORD_SIZE, distinctRecords } = require('./helpers/records')

const counts = { quick: 20000, full: 200000 }
const measured = ['ours', 'flumelog-offset', 'flumelog-aligned-offset'].map(name => require(`./peers/${name}`))
/** Milliseconds between looks at the view. */
const INTERVAL = 1

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const count = counts[size]
  return [1024, count].map(inFlight => ({
    name: inFlight === count ? `${count.toLocaleString('en')} at once` : `${inFlight} in flight`,
    // see early.js for why
    rows: measured.filter(({ isEarly }) => inFlight < count || !isEarly).map(peer => ({
      name: peer.name,
      note: peer.isEarly ? `${peer.note}, and its views miss the last records: timed until its file was complete` : undefined,
      async run ({ scratch }) {
        const values = distinctRecords().map(record => JSON.parse(record))
        let runs = 0
        return timePhases(async () => {
          const folder = path.join(scratch, `${runs++}`)
          fs.mkdirSync(folder)
          const measure = await append(peer, folder, values, count, inFlight)
          fs.rmSync(folder, { recursive: true })
          return measure
        })
      }
    }))
  }))
}

async function append (peer, folder, values, count, inFlight) {
  const begin = performance.now()
  const log = peer.create(folder, { codec: json })
  const db = Flume(asFlumelog(log)).use('seen', Reduce(1, (seen) => seen + 1, null, null, 0))
  await drive({ count, inFlight }, (n, cb) => db.append(values[n % values.length], cb))
  await (peer.isEarly ? peer.whole(log) : allSeen(db, count))
  const seconds = (performance.now() - begin) / 1000
  await new Promise((resolve, reject) => db.close((err) => err ? reject(err) : resolve()))
  return { records: count, bytes: count * RECORD_SIZE, seconds }
}

/**
 * @param {object} db
 * @param {number} count of records
 */
async function allSeen (db, count) {
  while (await new Promise((resolve, reject) => db.seen.get({}, (err, records) => err ? reject(err) : resolve(records))) < count) {
    await new Promise(resolve => setTimeout(resolve, INTERVAL))
  }
}

module.exports = { name: 'flumedb', question: 'How fast does flumedb append?', groups }
