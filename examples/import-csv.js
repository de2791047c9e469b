'use strict'

// Imports a CSV file, whose first line names the fields, with one record per line.
// Backpressure from the log limits how much of it is in memory.
//
//     npm install flumelog-random-access-file cli-progress vega-datasets
//     node import-csv.js [CSV [FILE]]

const fs = require('fs')
const os = require('os')
const path = require('path')
const readline = require('readline')
const { SingleBar, Presets } = require('cli-progress')
const { open } = require('flumelog-random-access-file/promises')

const codec = { encode: JSON.stringify, decode: JSON.parse, buffer: false }
const csv = process.argv[2] ?? path.join(path.dirname(require.resolve('vega-datasets')), '../data/seattle-weather.csv')
const file = process.argv[3] ?? path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'import-csv-')), 'log')

async function main () {
  const log = await open(file, { codec })
  const input = fs.createReadStream(csv)
  const bar = new SingleBar({ format: '{bar} {percentage} %, {eta_formatted} left' }, Presets.shades_classic)
  bar.start(fs.statSync(csv).size, 0)
  input.on('data', chunk => bar.increment(chunk.length))
  const { records } = await log.appendFrom(toRecords(readline.createInterface({ input })))
  bar.stop()
  console.log(`${records} records in ${file}`)
  await log.close()
}

async function * toRecords (lines) {
  let names = null
  for await (const line of lines) {
    if (names === null) names = fieldsOf(line)
    else yield Object.fromEntries(fieldsOf(line).map((field, i) => [names[i], field]))
  }
}

/** Splits a line into its fields, which may be quoted. */
function fieldsOf (line) {
  const fields = line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)
  return Array.from(fields, ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain)
}

main()
