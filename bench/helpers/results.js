'use strict'

// From measures to figures: the medians over the rounds, and how they are printed.

const { median } = require('./drive')

/**
 * @typedef {object} Line one measure
 * @property {string} file the benchmark's
 * @property {string} group
 * @property {number} [x] what the group stands for in a chart
 * @property {string} [table] in which the group is a column
 * @property {string} [column] its heading
 * @property {string} row
 * @property {string} [part] if a row gives several measures
 * @property {string} [note]
 * @property {number} round
 * @property {number} [records]
 * @property {number} [bytes]
 * @property {number} [seconds]
 * @property {number} [milliseconds] what one takes, where there is no rate
 * @property {{ median: number, p99: number, worst: number }} [latency] in milliseconds
 * @property {number} [peakMemory] the most that the process took, in bytes
 * @property {boolean} [memory] that is what the row is about
 * @property {string} [error] why it could not be measured
 *
 * @typedef {object} Figure the medians of a row, or of a part of one
 * @property {string} file
 * @property {string} group
 * @property {number} [x]
 * @property {string} [table]
 * @property {string} [column]
 * @property {string} row
 * @property {string} [part]
 * @property {string} [note]
 * @property {string} [error]
 * @property {number} [rate] records a second
 * @property {number} [byteRate] bytes a second
 * @property {number} [milliseconds]
 * @property {{ median: number, p99: number, worst: number }} [latency]
 * @property {number} [peakMemory]
 * @property {boolean} [memory]
 */

/**
 * @param {Line[]} lines
 * @returns {Figure[]} in the order in which they first came
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
 * @param {Set<string>} told rows whose note need not be told again
 * @returns {string[]} lines of text, in columns
 */
function describe (figures, told) {
  const cells = figures.map(figure => [nameOf(figure), ...cellsOf(figure)])
  const widths = []
  for (const row of cells) row.forEach((cell, i) => { widths[i] = Math.max(widths[i] ?? 0, cell.length) })
  const notes = figures.filter(({ row, note }) => note && !told.has(row) && told.add(row))
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
  if (memory) return [showBytes(peakMemory)]
  const cells = rate === undefined ? [showTime(milliseconds), ''] : [`${showCount(rate)} records/s`, showBytes(byteRate) + '/s']
  if (latency !== undefined) {
    cells.push(`median ${showTime(latency.median)}`, `99th ${showTime(latency.p99)}`, `worst ${showTime(latency.worst)}`)
  }
  return cells
}

/** @param {number} count */
function showCount (count) {
  return Math.round(count).toLocaleString('en')
}

/** @param {number} bytes */
function showBytes (bytes) {
  return bytes < 10e6 ? `${(bytes / 1e6).toPrecision(2)} MB` : `${Math.round(bytes / 1e6).toLocaleString('en')} MB`
}

/** @param {number} milliseconds */
function showTime (milliseconds) {
  return milliseconds < 1 ? `${Math.round(milliseconds * 1000)} µs` : `${milliseconds.toPrecision(3)} ms`
}

module.exports = { summarize, describe, showCount, showBytes, showTime }
