'use strict'

// Runs benchmark files. Each group of a file is one benchmark of nanobench, each row of a
// group runs in a process of its own, and the rows of a group alternate, round by round.
//
// A benchmark file exports
//
//     name, question
//     groups (size)      returns an array of
//
//         name           what its rows have in common
//         x              position of the group in a chart, if it has one
//         table, column  in the report, the group is this column of that table; by default, it is a table
//         rounds         upper limit on the number of rounds
//         rows           an array of
//
//             name
//             note       what readers need to know to judge the figures
//             input      { name, make (path) }: created before the row runs, once for all rows of the file
//                        whose inputs have the same name
//             run ({ input, scratch, size }) resolves to one or more measurements. input: the path of the input;
//                        scratch: an empty directory
//
// A measurement is { records, bytes, seconds }, { milliseconds }, or { memory } in bytes; with its `phase`, cold or warm,
// `part` as its name if there are several, and `latency` as from drive.js.

const { fork } = require('child_process')
const fs = require('fs')
const path = require('path')
const { describe, summarize } = require('./results')
const { Progress } = require('./progress')

const ROUNDS = { quick: 1, full: 3 }
/** Timeout of a row, in seconds. */
const TIME_LIMIT = { quick: 60, full: 300 }

/**
 * @typedef {'quick' | 'full'} Size quick: to see that it works, and orders of magnitude; full: what is published
 *
 * @typedef {object} Settings
 * @property {Size} size
 * @property {number} [rounds] how often each row is measured
 * @property {string} folder for temporary directories
 * @property {(place: { file: string, group: string, row: string }) => boolean} [wants] whether to measure a row; default: all
 * @property {boolean} [isQuiet] prints no figures
 * @property {(line: import('./results').Line) => void} [onMeasure]
 */

/**
 * Measures all groups of files, and prints their figures to standard output, through nanobench.
 * @param {object[]} files
 * @param {Settings} settings
 */
async function runFiles (files, settings) {
  const benches = files.map(file => new Bench(file, settings))
  const progress = new Progress(benches.reduce((sum, bench) => sum + bench.countRuns(), 0))
  for (const bench of benches) {
    bench.begin(progress)
    const noted = new Set()
    for (const index of bench.groups.keys()) {
      if (bench.rowsOf(index).length === 0) continue
      if (settings.isQuiet) await bench.measure(index)
      else await printGroup(bench, index, noted)
      bench.dropInputs(index + 1)
    }
    bench.close()
  }
}

/**
 * @param {Bench} bench
 * @param {number} index of the group
 * @param {Set<string>} noted notes that have been printed
 */
function printGroup (bench, index, noted) {
  // loaded here, since it prints a report at exit even if it was not used
  const nanobench = require('nanobench')
  return new Promise(resolve => {
    nanobench(`${bench.file.name}: ${bench.groups[index].name}`, (b) => {
      bench.measure(index).then(lines => {
        for (const line of describe(summarize(lines), noted)) b.log(line)
        b.end()
      }, b.error).then(resolve)
    })
  })
}

/** Measures the groups of one benchmark file, in a temporary directory. */
class Bench {
  /**
   * @param {object} file
   * @param {Settings} settings
   */
  constructor (file, settings) {
    this.file = file
    this.groups = file.groups(settings.size)
    this.settings = settings
    /** @type {Progress} */
    this.progress = null
    this.folder = ''
    /** Inputs by name: undefined if it was created, else why that failed. @type {Map<string, string | undefined>} */
    this.inputs = new Map()
    /** @type {import('child_process').ChildProcess | null} */
    this.child = null
    this.close = this.close.bind(this)
  }

  /** @param {Progress} progress */
  begin (progress) {
    this.progress = progress
    this.folder = fs.mkdtempSync(path.join(this.settings.folder, 'flumelog-bench-'))
    process.on('exit', this.close)
  }

  /**
   * @param {number} index
   * @returns {Array<{ group: number, row: number }>} the rows of a group that are wanted
   */
  rowsOf (index) {
    const { name: group, rows } = this.groups[index]
    const { wants = () => true } = this.settings
    return rows.map((_, row) => ({ group: index, row })).filter(({ row }) => wants({ file: this.file.name, group, row: rows[row].name }))
  }

  /** @param {number} index of a group */
  roundsOf (index) {
    const most = this.settings.rounds ?? ROUNDS[this.settings.size]
    return Math.min(this.groups[index].rounds ?? most, most)
  }

  /** @returns {number} runs of all rows */
  countRuns () {
    return [...this.groups.keys()].reduce((sum, index) => sum + this.rowsOf(index).length * this.roundsOf(index), 0)
  }

  /**
   * Measures the rows of a group, which alternate.
   * @param {number} index
   * @returns {Promise<import('./results').Line[]>} one line per measurement
   */
  async measure (index) {
    const lines = []
    const failed = new Set()
    for (let round = 0; round < this.roundsOf(index); round++) {
      for (const place of this.rowsOf(index)) {
        const { name: group, x, table, column, rows: { [place.row]: row } } = this.groups[index]
        this.progress.show(`${this.file.name}: ${group}: ${row.name}`)
        if (!failed.has(row)) {
          const { error, measures = [{ error }] } = await this.measureRow(place)
          if (error !== undefined) failed.add(row)
          for (const measure of measures) {
            const line = { file: this.file.name, group, x, table, column, row: row.name, note: row.note, round, ...measure }
            lines.push(line)
            this.settings.onMeasure?.(line)
          }
        }
        this.progress.advance()
      }
    }
    return lines
  }

  /**
   * @param {{ group: number, row: number }} place
   * @returns {Promise<{ measures?: object[], error?: string }>}
   */
  async measureRow (place) {
    const { input } = this.groups[place.group].rows[place.row]
    if (input !== undefined && !this.inputs.has(input.name)) {
      const { error } = await this.start('make', place)
      this.inputs.set(input.name, error)
    }
    const error = input && this.inputs.get(input.name)
    return error === undefined ? this.start('run', place) : { error }
  }

  /**
   * @param {'make' | 'run'} task
   * @param {{ group: number, row: number }} place
   * @returns {Promise<{ measures?: object[], error?: string }>}
   */
  start (task, { group, row }) {
    const { size } = this.settings
    const { input } = this.groups[group].rows[row]
    const scratch = fs.mkdtempSync(path.join(this.folder, 'scratch-'))
    const inputFolder = input === undefined ? undefined : path.join(this.folder, input.name)
    if (task === 'make') fs.mkdirSync(inputFolder)
    const order = { file: this.file.name, size, group, row, input: inputFolder, scratch, task }
    return new Promise(resolve => {
      let answer = { error: 'exited without an answer' }
      const child = fork(path.join(__dirname, 'row.js'), [JSON.stringify(order)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
      const timer = setTimeout(() => {
        answer = { error: `timed out after ${TIME_LIMIT[size]} s` }
        child.kill('SIGKILL')
      }, TIME_LIMIT[size] * 1000)
      this.child = child
      child.on('message', message => { answer = message })
      child.on('close', () => {
        clearTimeout(timer)
        this.child = null
        // processes that the row has started may still be ending
        fs.rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
        resolve(answer)
      })
    })
  }

  /**
   * Deletes inputs that are no longer used, so that the large ones need not fit on the disk together.
   * @param {number} from index of the first group not yet measured
   */
  dropInputs (from) {
    const left = [...this.groups.keys()].slice(from)
    const used = left.flatMap(index => this.rowsOf(index).map(({ row }) => this.groups[index].rows[row].input?.name))
    for (const name of [...this.inputs.keys()].filter(name => !used.includes(name))) {
      this.inputs.delete(name)
      fs.rmSync(path.join(this.folder, name), { recursive: true, force: true })
    }
  }

  close () {
    process.off('exit', this.close)
    this.child?.kill('SIGKILL')
    // a process that is being killed may still create a file
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  }
}

module.exports = { runFiles, ROUNDS }
