'use strict'

// Turns measurements into figures: the median over the rounds, with minimum and maximum; and formats them.

const { median } = require('./drive')

/**
 * @typedef {'cold' | 'warm'} Phase cold: the first pass in a fresh process; warm: later, in the same process
 *
 * @typedef {object} Line one measurement
 * @property {string} file of the benchmark
 * @property {string} group
 * @property {number} [x] position of the group in a chart
 * @property {string} [table] in which the group is a column
 * @property {string} [column] its heading
 * @property {string} row
 * @property {string} [part] if a row has several measurements
 * @property {Phase} [phase]
 * @property {string} [note]
 * @property {number} round
 * @property {number} [records]
 * @property {number} [bytes]
 * @property {number} [seconds]
 * @property {number} [milliseconds] per operation, if there is no rate
 * @property {{ median: number, p99: number, worst: number }} [latency] in milliseconds
 * @property {number} [memory] bytes of RSS, if the row is about memory
 * @property {number} [growth] peak RSS less the RSS before, in bytes
 * @property {string} [error] why the measurement failed
 *
 * @typedef {{ median: number, least: number, most: number }} Spread over the rounds
 *
 * @typedef {object} Figure a row in one phase, or a part of it
 * @property {string} file
 * @property {string} group
 * @property {number} [x]
 * @property {string} [table]
 * @property {string} [column]
 * @property {string} row
 * @property {string} [part]
 * @property {Phase} [phase]
 * @property {string} [note]
 * @property {string} [error]
 * @property {Spread} [rate] in records/s
 * @property {Spread} [byteRate] in bytes/s
 * @property {Spread} [milliseconds]
 * @property {Spread} [memory] in bytes
 * @property {{ median: number, p99: number, worst: number }} [latency]
 */

/**
 * @param {Line[]} lines
 * @returns {Figure[]} in the order of first occurrence
 */
function summarize (lines) {
  const rows = new Map()
  for (const line of lines) {
    const key = JSON.stringify([line.file, line.group, line.row, line.part, line.phase])
    if (!rows.has(key)) rows.set(key, [])
    rows.get(key).push(line)
  }
  return [...rows.values()].map(figureOf)
}

/**
 * @param {Line[]} rounds of one row
 * @returns {Figure}
 */
function figureOf (rounds) {
  const { file, group, x, table, column, row, part, phase, note } = rounds[0]
  const figure = { file, group, x, table, column, row, part, phase, note }
  const failed = rounds.find(({ error }) => error !== undefined)
  if (failed !== undefined) return { ...figure, error: failed.error }
  const over = (valueOf) => valueOf(rounds[0]) === undefined ? undefined : spread(rounds.map(valueOf))
  const isRate = rounds[0].seconds !== undefined
  return {
    ...figure,
    rate: isRate ? over(({ records, seconds }) => records / seconds) : undefined,
    byteRate: isRate ? over(({ bytes, seconds }) => bytes / seconds) : undefined,
    milliseconds: over(({ milliseconds }) => milliseconds),
    memory: over(({ memory }) => memory),
    latency: rounds[0].latency && {
      median: median(rounds.map(({ latency }) => latency.median)),
      p99: median(rounds.map(({ latency }) => latency.p99)),
      worst: Math.max(...rounds.map(({ latency }) => latency.worst))
    }
  }
}

/**
 * @param {number[]} values
 * @returns {Spread}
 */
function spread (values) {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values) }
}

/**
 * @param {Figure[]} figures
 * @param {Set<string>} noted notes that have been printed
 * @returns {string[]} lines of text, in columns
 */
function describe (figures, noted) {
  const cells = figures.map(figure => [nameOf(figure), figure.phase ?? '', ...cellsOf(figure)])
  const widths = []
  for (const row of cells) row.forEach((cell, i) => { widths[i] = Math.max(widths[i] ?? 0, cell.length) })
  return [
    ...cells.map(row => row.map((cell, i) => i < 2 ? cell.padEnd(widths[i]) : cell.padStart(widths[i])).join('  ').trimEnd()),
    ...notesOf(figures).filter(note => !noted.has(note) && noted.add(note)).map(note => `* ${note}`)
  ]
}

/**
 * @param {Figure[]} figures
 * @returns {string[]} each note, after the rows that have it
 */
function notesOf (figures) {
  const notes = new Set(figures.map(({ note }) => note).filter(Boolean))
  return [...notes].map(note => {
    const rows = new Set(figures.filter(figure => figure.note === note).map(({ row }) => row))
    return `${[...rows].join('; ')}: ${note}`
  })
}

/** @param {Figure} figure */
function nameOf ({ row, part, note }) {
  return row + (part === undefined ? '' : `: ${part}`) + (note ? ' *' : '')
}

/** @param {Figure} figure */
function cellsOf ({ error, rate, byteRate, milliseconds, latency, memory }) {
  if (error !== undefined) return [`not measured: ${error}`]
  if (memory !== undefined) return [formatBytes(memory.median), formatRange(memory, formatBytes)]
  const cells = rate === undefined
    ? [formatTime(milliseconds.median), formatRange(milliseconds, formatTime), '']
    : [`${formatCount(rate.median)} records/s`, formatRange(rate, formatCount), formatBytes(byteRate.median) + '/s']
  if (latency !== undefined) {
    cells.push(`median ${formatTime(latency.median)}`, `p99 ${formatTime(latency.p99)}`, `max ${formatTime(latency.worst)}`)
  }
  return cells
}

/**
 * @param {Spread} spread
 * @param {(value: number) => string} format
 * @returns {string} minimum and maximum; empty if there was one round
 */
function formatRange ({ least, most }, format) {
  return least === most ? '' : `${format(least)}–${format(most)}`
}

/** @param {number} count with three significant digits, since no more are reproducible */
function formatCount (count) {
  return Number(count.toPrecision(3)).toLocaleString('en')
}

/** @param {number} count */
function formatShort (count) {
  if (count >= 1e6) return `${(count / 1e6).toPrecision(3)} M`
  return count >= 1000 ? `${Math.round(count / 1000)} k` : `${Math.round(count)}`
}

/** @param {number} bytes */
function formatBytes (bytes) {
  return bytes < 10e6 ? `${(bytes / 1e6).toPrecision(2)} MB` : `${formatCount(Math.round(bytes / 1e6))} MB`
}

/** @param {number} milliseconds */
function formatTime (milliseconds) {
  return milliseconds < 1 ? `${Math.round(milliseconds * 1000)} µs` : `${formatCount(milliseconds)} ms`
}

module.exports = { summarize, spread, describe, notesOf, formatCount, formatShort, formatBytes, formatTime, formatRange }
