'use strict'

// Runs `npm run demo` as a user would, and compares what it prints with an independent
// computation over the data sets.

const fs = require('fs')
const path = require('path')
const { spawnSync } = require('child_process')
const tape = require('tape')
const pull = require('pull-stream')
const codec = require('flumecodec').json
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')

const DEMO = path.join(__dirname, '..', '..', 'demo', 'demo.js')
const DATA = path.join(path.dirname(require.resolve('vega-datasets')), '..', 'data')
const MOMENT = Date.UTC(2018, 1, 6, 15, 50)

const data = (name) => JSON.parse(fs.readFileSync(path.join(DATA, name), 'utf8'))
const flights = data('flights-200k.json')
const quakes = data('earthquakes.json').features.sort((a, b) => a.properties.time - b.properties.time)
const ofType = (type) => quakes.filter(({ properties }) => properties.type === type)
const number = (value) => value.toLocaleString('en-US')

tape('the demo exits with code 0, and its output agrees with the data', async (t) => {
  const folder = testFolder(t)
  const child = spawnSync(process.execPath, [DEMO], { encoding: 'utf8', env: { ...process.env, TMPDIR: folder('.') } })
  t.equal(child.status, 0, child.stderr || 'exits with code 0')
  const output = child.stdout
  const says = (text) => t.ok(output.includes(text), text)

  says(`${number(flights.length + quakes.length)} records`)
  says(`${number(flights.filter(({ delay }) => delay >= 15).length)} were late by 15 minutes or more`)
  for (const type of ['earthquake', 'explosion', 'quarry blast']) says(`${number(ofType(type).length)} × ${type}`)
  const delays = flights.map(({ delay }) => delay).sort((a, b) => b - a).slice(0, 3)
  t.deepEqual(matches(section(output, 'flumeview-level'), /([\d,]+) minutes late/g), delays.map(number), 'the longest delays')

  t.deepEqual(events(section(output, 'backward')), quakes.slice(-5).reverse().map(event), 'the last five records, the last one first')
  const first = quakes.findIndex(({ properties }) => properties.time >= MOMENT)
  t.deepEqual(events(section(output, 'binary search')), quakes.slice(first, first + 5).map(event), 'the records from a moment on')

  t.deepEqual(matches(section(output, 'first records'), /^(\{.*\})$/gm).map(record => JSON.parse(record)),
    flights.slice(0, 3).map(flightRecord), 'the first three records, dumped')

  const file = /^ {2}(\/.*)$/m.exec(section(output, 'The log is in'))[1]
  t.match(section(output, 'The log is in'), new RegExp(`flumelog\\.js view ${file}$`, 'm'), 'how to look into it')
  const tooWide = output.split('\n').filter(line => !line.includes(file) && line.length > 80)
  t.deepEqual(tooWide, [], 'no line is wider than a terminal of 80 columns')

  const records = await recordsOf(file)
  const expected = [...flights.map(flightRecord), ...quakes.map(({ properties }) => ({ timestamp: properties.time }))]
  t.equal(records.length, expected.length, 'the log has as many records as the data')
  const wrong = records.findIndex(({ timestamp, delay }, i) => timestamp !== expected[i].timestamp || delay !== expected[i].delay)
  t.equal(wrong, -1, 'each of its records is the one of the data')
})

/** The part of the output from a line that contains this text to the next empty line. */
function section (output, text) {
  const from = output.indexOf(text)
  return output.slice(from, output.indexOf('\n\n', from))
}

const matches = (text, pattern) => [...text.matchAll(pattern)].map(match => match[1])

const events = (text) => matches(text, /(\d{4}-\d\d-\d\d \d\d:\d\d {2}.*)$/gm)

function event ({ properties: { time, type, mag, place } }) {
  return `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')}  ${type} ${mag}, ${place}`
}

function flightRecord ({ time, delay, distance }) {
  return { type: 'flight', timestamp: Date.UTC(2001, 0, 1, 0, Math.round(time * 60)), delay, distance }
}

/** @param {string} file */
function recordsOf (file) {
  const log = FlumeLog(file, { codec, readOnly: true })
  return new Promise((resolve, reject) => {
    pull(log.stream({ seqs: false }), pull.collect((err, records) => {
      log.close(() => err ? reject(err) : resolve(records))
    }))
  })
}
