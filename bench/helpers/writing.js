'use strict'

// Measures processes that write one store together.

const fs = require('fs')
const path = require('path')
const shared = require('../shared')
const { Participant } = require('./participant')
const { RECORD_SIZE } = require('./records')

const PROGRAM = path.join(__dirname, 'writer.js')

/**
 * Starts a process that owns the store, if there is to be one, and those that write. Each of these appends one record. When
 * all are acknowledged, they start to write, and the clock runs from the first start to the last acknowledgement. There is no
 * other warm-up, so the time includes what new processes spend on compiling their code.
 * @param {object} load
 * @param {string} load.store key of shared/index.js
 * @param {string} load.way how records are written: see writer.js
 * @param {number} load.writers number of processes
 * @param {boolean} load.hasOwner whether there is a process that owns the store and does nothing else
 * @param {number} load.seconds
 * @param {object} [load.options] of the process that owns the store
 * @param {string} scratch
 * @returns {Promise<{ records: number, bytes: number, seconds: number }>}
 */
async function timeWriters ({ store, way, writers, hasOwner, seconds, options }, scratch) {
  const folder = path.join(scratch, 'store')
  fs.mkdirSync(folder)
  /** @type {Participant[]} */
  const started = []
  const start = (order) => {
    const participant = new Participant(PROGRAM, { store, folder, options, ...order })
    started.push(participant)
    return participant
  }
  try {
    const owner = hasOwner ? start({ role: 'owner' }) : null
    await owner?.ready
    const all = Array.from({ length: writers }, (_, number) => start({ role: 'writer', number, way, seconds }))
    await Promise.all(all.map(({ ready }) => ready))
    const reports = await Promise.all(all.map(writer => writer.ask({ go: true })))
    for (const writer of all) await writer.close()
    await owner?.close()

    const records = reports.reduce((sum, report) => sum + report.records, 0)
    const stored = await shared[store].count(folder)
    if (stored !== records + writers) throw new Error(`found ${stored} of ${records + writers} records`)
    const begin = Math.min(...reports.map(report => report.begin))
    const end = Math.max(...reports.map(report => report.end))
    return { records, bytes: records * RECORD_SIZE, seconds: end - begin }
  } finally {
    for (const participant of started) await participant.kill()
  }
}

module.exports = { timeWriters }
