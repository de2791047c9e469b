'use strict'

// Appends and follows a log in a stream while something happens to its servers: what is appended is stored once and in order, and nobody who
// reads skips or repeats a record.

const pull = require('pull-stream')
const { openLog } = require('./jetstream')
const { streamName } = require('./nats')
const { collect, isSame } = require('../../../../test/helpers/reading')
const { thorough } = require('../../../../test/helpers/thorough')

const codec = require('flumecodec').json
const numbers = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i)
const pause = (milliseconds) => new Promise(resolve => setTimeout(resolve, milliseconds))

/** Appends numbers, some at a time, until it is stopped. */
class Appending {
  /** @param {any} log @param {number} inFlight */
  constructor (log, inFlight) {
    this.log = log
    this.last = 0
    /** By number. @type {number[]} */
    this.seqs = [0]
    this.longest = 0
    this.acknowledgedAt = performance.now()
    this.isStopped = false
    this.done = Promise.all(Array.from({ length: inFlight }, () => this.run()))
  }

  async run () {
    while (!this.isStopped) {
      const number = ++this.last
      this.seqs[number] = await this.log.append(number)
      const now = performance.now()
      this.longest = Math.max(this.longest, now - this.acknowledgedAt)
      this.acknowledgedAt = now
    }
  }

  /** Until some more are acknowledged. */
  async more (count) {
    const until = this.seqs.length + count
    while (this.seqs.length < until) await pause(5)
  }

  async stop () {
    this.isStopped = true
    await this.done
  }
}

/** What a live stream gives. */
function following (log, options) {
  const got = []
  const ended = new Promise(resolve => pull(log.stream({ live: true, ...options }), pull.drain(item => { got.push(item) }, resolve)))
  return { got, ended, until: async (count) => { while (got.length < count) await pause(5) } }
}

/**
 * Appends and follows while something happens to the servers.
 * @param {import('tape').Test} t
 * @param {string[]} urls of all servers
 * @param {object} options of the logs
 * @param {(round: (disturb: () => Promise<any>) => Promise<void>, stream: string) => Promise<void>} disturb
 */
async function withDisturbances (t, urls, options, disturb) {
  const stream = streamName()
  const open = (more = {}) => openLog({ url: urls }, { stream, codec, ...options, ...more })
  const [log, reader] = [open(), open()]
  await log.onReady()
  const streams = [following(log.log), following(reader.log), following(reader.log, { gt: 100, values: false })]
  const appending = new Appending(log, 50)
  await appending.more(200)
  await disturb(async (action) => {
    await action()
    await appending.more(thorough ? 500 : 300)
  }, stream)
  await appending.stop()
  const { last } = appending
  const stored = await collect(reader.log)
  t.ok(isSame(stored.map(({ value }) => value), numbers(1, last)), `all ${last} are stored once, in order`)
  t.ok(isSame(stored.map(({ seq }) => seq), numbers(1, last).map(number => appending.seqs[number])), 'under the seqs that were acknowledged')
  t.ok(isSame(await collect(reader.log, { reverse: true, seqs: false }), numbers(1, last).reverse()), 'backward, too')
  await streams[0].until(last)
  await streams[1].until(last)
  await streams[2].until(stored.filter(({ seq }) => seq > 100).length)
  t.ok(isSame(streams[0].got, stored), 'the live stream of the writer gave each once, in order')
  t.ok(isSame(streams[1].got, stored), 'and so did that of another log object')
  t.ok(isSame(streams[2].got, stored.map(({ seq }) => seq).filter(seq => seq > 100)), 'and one that started later')
  const { written, appended, inFlight } = log.log.stats()
  t.deepEqual([written.records, appended.records, inFlight.records], [last, last, 0])
  t.comment(`the longest time without an acknowledgement: ${Math.round(appending.longest)} ms`)
  await log.close()
  await reader.close()
}

module.exports = { withDisturbances, following, Appending, pause }
