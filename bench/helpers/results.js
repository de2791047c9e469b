'use strict'

// Turns measurements into figures, which are medians over the rounds, and formats them.

const { median } = require('./drive')

/**
 * @typedef {object} Line one measurement
 * @property {string} file of the benchmark
 * @property {string} group
 * @property {number} [x] position of the group in a chart
 * @property {string} [table] in which the group is a column
 * @property {string} [column] its heading
 * @property {string} row
 * @property {string} [part] if a row has several measurements
 * @property {string} [note]
 * @property {number} round
 * @property {number} [records]
 * @property {number} [bytes]
 * @property {number} [seconds]
 * @property {number} [milliseconds] per operation, if there is no rate
 * @property {{ median: number, p99: number, worst: number }} [latency] in milliseconds
 * @property {number} [peakMemory] peak RSS of the process, in bytes
 * @property {boolean} [memory] whether the row is about peakMemory
 * @property {string} [error] why the measurement failed
 *
 * @typedef {object} Figure medians of a row, or of a part of a row
 * @property {string} file
 * @property {string} group
 * @property {number} [x]
 * @property {string} [table]
 * @property {string} [column]
 * @property {string} row
 * @property {string} [part]
 * @property {string} [note]
 * @property {string} [error]
 * @property {number} [rate] in records/s
 * @property {number} [byteRate] in bytes/s
 * @property {number} [milliseconds]
 * @property {{ median: number, p99: number, worst: number }} [latency]
 * @property {number} [peakMemory]
 * @property {boolean} [memory]
 */

/**
 * @param {Line[]} lines
 * @returns {Figure[]} in the order of first occurrence
 */
function summarize (lines) {
  const rows = new Map()
  for (const line of lines) {
    const key = JSON.stringify([line.file, line.group, line.row, line.part])
    if (!rows.has(key)) rows.set(key, [])
    rows.get(key).push(line)
  }
  return [...rows.values()].map(rounds => {
    const { file, group, x, table, column, row, part, note } = rounds[0]
    const figure = { file, group, x, table, column, row, part, note, error: rounds.find(({ error }) => error !== undefined)?.error }
    if (figure.error !== undefined) return figure
    const over = (valueOf) => valueOf(rounds[0]) === undefined ? undefined : median(rounds.map(valueOf))
    const isRate = rounds[0].seconds !== undefined
    return {
      ...figure,
      memory: rounds[0].memory,
      rate: isRate ? over(({ records, seconds }) => records / seconds) : undefined,
      byteRate: isRate ? over(({ bytes, seconds }) => bytes / seconds) : undefined,
      milliseconds: over(({ milliseconds }) => milliseconds),
      peakMemory: over(({ peakMemory }) => peakMemory),
      latency: rounds[0].latency && {
        median: over(({ latency }) => latency.median),
        p99: over(({ latency }) => latency.p99),
        worst: Math.max(...rounds.map(({ latency }) => latency.worst))
      }
    }
  })
}

/**
 * @param {Figure[]} figures
 * @param {Set<string>} noted rows whose note has been printed
 * @returns {string[]} lines of text, in columns
 */
function describe (figures, noted) {
  const cells = figures.map(figure => [nameOf(figure), ...cellsOf(figure)])
  const widths = []
  for (const row of cells) row.forEach((cell, i) => { widths[i] = Math.max(widths[i] ?? 0, cell.length) })
  const notes = figures.filter(({ row, note }) => note && !noted.has(row) && noted.add(row))
  return [
    ...cells.map(row => row.map((cell, i) => i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i])).join('  ').trimEnd()),
    ...notes.map(({ row, note }) => `* ${row}: ${note}`)
  ]
}

/** @param {Figure} figure */
function nameOf ({ row, part, note }) {
  return row + (part === undefined ? '' : `: ${part}`) + (note ? ' *' : '')
}

/** @param {Figure} figure */
function cellsOf ({ error, rate, byteRate, milliseconds, latency, peakMemory, memory }) {
  if (error !== undefined) return [`not measured: ${error}`]
  if (memory) return [formatBytes(peakMemory)]
  const cells = rate === undefined ? [formatTime(milliseconds), ''] : [`${formatCount(rate)} records/s`, formatBytes(byteRate) + '/s']
  if (latency !== undefined) {
    cells.push(`median ${formatTime(latency.median)}`, `p99 ${formatTime(latency.p99)}`, `max ${formatTime(latency.worst)}`)
  }
  return cells
}

/** @param {number} count */
function formatCount (count) {
  return Math.round(count).toLocaleString('en')
}

/** @param {number} bytes */
function formatBytes (bytes) {
  return bytes < 10e6 ? `${(bytes / 1e6).toPrecision(2)} MB` : `${Math.round(bytes / 1e6).toLocaleString('en')} MB`
}

/** @param {number} milliseconds */
function formatTime (milliseconds) {
  return milliseconds < 1 ? `${Math.round(milliseconds * 1000)} µs` : `${milliseconds.toPrecision(3)} ms`
}

module.exports = { summarize, describe, formatCount, formatBytes, formatTime }
