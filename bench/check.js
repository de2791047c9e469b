'use strict'

// Measures the log relative to its baselines, and compares the ratios with their targets.
// A ratio is the median of the ratios of the rounds; within a round, the two are measured
// in direct succession. With --markdown FILE, the table is also written there, with the
// machine and the versions.

const fs = require('fs')
const path = require('path')
const { settings } = require('./helpers/settings')
const { environment } = require('./helpers/environment')
const { table, place, versions } = require('./helpers/markdown')
const { Bench, ROUNDS } = require('./helpers/runner')
const { Progress } = require('./helpers/progress')
const { median } = require('./helpers/drive')
const { formatCount, formatBytes, formatTime } = require('./helpers/results')

const OURS = 'flumelog-random-access-file'
const MB = 1e6

/** @type {(file: string, group: string) => (row: string) => Place} */
const rowsIn = (file, group) => (row) => ({ file, group, row })

const layer = rowsIn('layers', 'blocks of 64 KiB')
const reader = rowsIn('layers', 'sequential read, all stores')
const append16 = rowsIn('append', '16 in flight')
const append1024 = rowsIn('append', '1024 in flight')
const atOnce = rowsIn('append', '500,000 at once')
const synced = rowsIn('append', 'synced append, 1024 in flight')
const option = rowsIn('append', 'cost of options, 1024 in flight')
const inside = rowsIn('random', 'in cache, 1 in flight')
const beyond = rowsIn('random', '10x cache size, 1 in flight')
const beyond1024 = rowsIn('random', '10x cache size, 1024 in flight')
const small = rowsIn('scale', 'a log of 4 MB')
const medium = rowsIn('scale', 'a log of 100 MB')
const large = rowsIn('scale', 'a log of 4,000 MB')
/** Processes that write at the same time. */
const clients = (count) => rowsIn('clients', count === 1 ? '1 client' : `${count} clients`)
const takeover = { ...rowsIn('clients', 'from SIGKILL of the owner to the next acknowledgement')('takeover'), part: 'all' }
const burst = (count) => ({ file: 'burst', group: `${count} at once`, row: OURS })

const databases = (count, transactions) => ['better-sqlite3', 'lmdb'].map(name => clients(count)(`${name}, ${transactions}`))

/** Peers that store what is appended. */
const others = require('./peers').filter(({ name, isVolatile }) => name !== OURS && !isVolatile).map(({ name }) => name)

/**
 * @typedef {{ file: string, group: string, row: string, part?: string }} Place
 * @typedef {object} Ratio
 * @property {number} number of the target, as in docs/speed.md
 * @property {string} what is compared
 * @property {Place} of
 * @property {Place[]} over the best of them is the baseline
 * @property {(measure: object) => number} by the figure to compare
 * @property {(value: number) => string} format
 * @property {number} [least] lower bound of the target; without bounds, the ratio is informative
 * @property {number} [most] upper bound
 */

const RATE = { by: ({ records, seconds }) => records / seconds, format: (rate) => `${formatCount(rate)}/s` }
const TIME = { by: ({ seconds }) => -seconds, format: (seconds) => formatTime(-seconds * 1000) }
const DURATION = { by: ({ milliseconds }) => milliseconds, format: formatTime }
const MEMORY = { by: ({ peakMemory }) => peakMemory, format: formatBytes }

/** @type {Ratio[]} */
const ratios = [
  { number: 1, what: 'stream, relative to async-append-only-log', of: reader(OURS), over: [reader('async-append-only-log')], ...RATE, least: 3 },
  { number: 1, what: 'stream, relative to flumelog-offset', of: reader(OURS), over: [reader('flumelog-offset')], ...RATE, least: 6 },
  { number: 1, what: 'time of stream, relative to reading block by block through random-access-file', of: layer('stream'), over: [layer('random-access-file')], ...TIME, most: 1 },
  { number: 1, what: 'stream, relative to a bare loop that reads, and creates a Buffer and an object per record', of: layer('stream'), over: [layer('bare stream')], ...RATE },
  { number: 1, what: 'that bare loop, relative to async-append-only-log', of: layer('bare stream'), over: [reader('async-append-only-log')], ...RATE },
  { number: 1, what: 'time of that bare loop, relative to reading block by block through random-access-file', of: layer('bare stream'), over: [layer('random-access-file')], ...TIME },
  { number: 2, what: 'scan, relative to stream', of: layer('scan'), over: [layer('stream')], ...RATE, least: 2 },
  { number: 2, what: 'scan, relative to stream, both with checksum: false', of: layer('scan, checksum: false'), over: [layer('stream, checksum: false')], ...RATE, least: 3 },
  { number: 2, what: 'scan with reuse: true, relative to stream', of: layer('scan, reuse'), over: [layer('stream')], ...RATE },
  { number: 2, what: 'the same, both with checksum: false', of: layer('scan, reuse, checksum: false'), over: [layer('stream, checksum: false')], ...RATE },
  { number: 2, what: 'values: false, relative to stream', of: layer('values: false'), over: [layer('stream')], ...RATE, least: 1.3 },
  { number: 3, what: 'reverse, relative to stream', of: layer('reverse'), over: [layer('stream')], ...RATE, least: 0.8 },
  { number: 4, what: 'appends, 16 in flight, relative to flumelog-offset', of: append16(OURS), over: [append16('flumelog-offset')], ...RATE, least: 2 },
  { number: 4, what: 'appends, 1024 in flight, relative to better-sqlite3, synchronous=OFF', of: append1024(OURS), over: [append1024('better-sqlite3')], ...RATE, least: 2 },
  { number: 4, what: '500,000 appends at once, relative to the best peer', of: atOnce(OURS), over: others.map(atOnce), ...RATE, least: 2 },
  { number: 4, what: 'time of 500,000 appends at once, relative to fs.write of the same bytes, 1 MiB at a time', of: atOnce(OURS), over: [atOnce('fs.write, 1 MiB chunks')], ...TIME, most: 2 },
  { number: 4, what: '500,000 appends at once, relative to 10,000 at once', of: burst('500,000'), over: [burst('10,000')], ...RATE, least: 0.9 },
  { number: 4, what: '500,000 appends at once, relative to a bare loop that copies, writes and calls back', of: atOnce(OURS), over: [atOnce('bare loop')], ...RATE },
  { number: 4, what: 'time of that bare loop, relative to fs.write of the same bytes, 1 MiB at a time', of: atOnce('bare loop'), over: [atOnce('fs.write, 1 MiB chunks')], ...TIME },
  { number: 5, what: 'synced appends, 1024 in flight, relative to better-sqlite3, synchronous=FULL', of: synced(OURS), over: [synced('better-sqlite3')], ...RATE, least: 5 },
  { number: 5, what: 'the same, relative to better-sqlite3 with one transaction for all that are in flight', of: synced(OURS), over: [synced('better-sqlite3, grouped')], ...RATE, least: 1 },
  { number: 6, what: 'get in cache, 1 in flight, relative to flumelog-offset', of: inside(OURS), over: [inside('flumelog-offset')], ...RATE, least: 10 },
  { number: 6, what: 'the same, relative to flumelog-aligned-offset', of: inside(OURS), over: [inside('flumelog-aligned-offset')], ...RATE, least: 1 },
  { number: 6, what: 'get at 10x cache size, 1 in flight, relative to flumelog-offset', of: beyond(OURS), over: [beyond('flumelog-offset')], ...RATE, least: 4 },
  { number: 6, what: 'the same, 1024 in flight', of: beyond1024(OURS), over: [beyond1024('flumelog-offset')], ...RATE, least: 4 },
  { number: 6, what: 'get at 10x cache size, 1 in flight, relative to lmdb', of: beyond(OURS), over: [beyond('lmdb')], ...RATE },
  { number: 6, what: 'the same, 1024 in flight', of: beyond1024(OURS), over: [beyond1024('lmdb')], ...RATE },
  { number: 7, what: 'opening 4 GB, relative to 4 MB', of: large('open'), over: [small('open')], ...DURATION, most: 1.5 },
  { number: 7, what: 'peak RSS of a scan of 4 GB, relative to 100 MB', of: large('peak RSS of a scan'), over: [medium('peak RSS of a scan')], ...MEMORY, least: 0.9, most: 1.1 },
  { number: 7, what: 'peak RSS of a scan of 4 GB, in MB', of: large('peak RSS of a scan'), over: [], ...MEMORY, by: ({ peakMemory }) => peakMemory / MB, format: (mb) => formatBytes(mb * MB), most: 200 },
  { number: 8, what: 'appends, 1024 in flight, relative to checksum: false', of: option('defaults'), over: [option('checksum: false')], ...RATE },
  { number: 8, what: 'appends, 1024 in flight, relative to sync: never', of: option('defaults'), over: [option('sync: never')], ...RATE },
  { number: 8, what: 'appends, 1024 in flight, relative to lock: false', of: option('defaults'), over: [option('lock: false')], ...RATE },
  { number: 8, what: 'scan, relative to checksum: false', of: layer('scan'), over: [layer('scan, checksum: false')], ...RATE },
  { number: 8, what: 'stream, relative to checksum: false', of: layer('stream'), over: [layer('stream, checksum: false')], ...RATE },
  { number: 8, what: 'opening 4 MB, relative to lock: false', of: small('open'), over: [small('open, lock: false')], ...DURATION },
  { number: 9, what: 'one client, gathered, relative to lock-step', of: clients(1)('shared log, gathered'), over: [clients(1)('shared log, lock-step')], ...RATE, least: 20 },
  { number: 9, what: '3 clients together, gathered, relative to one', of: clients(3)('shared log, gathered'), over: [clients(1)('shared log, gathered')], ...RATE, least: 1 },
  { number: 9, what: '8 clients together, gathered, relative to one', of: clients(8)('shared log, gathered'), over: [clients(1)('shared log, gathered')], ...RATE, least: 0.8 },
  { number: 9, what: '3 clients together, gathered, relative to 3 processes that write a database, one transaction per record', of: clients(3)('shared log, gathered'), over: databases(3, '1 per transaction'), ...RATE, least: 5 },
  { number: 9, what: 'the same, 100 records per transaction', of: clients(3)('shared log, gathered'), over: databases(3, '100 per transaction'), ...RATE, least: 1.5 },
  { number: 9, what: 'a bare loop with 3 clients, relative to these', of: clients(3)('bare loop'), over: databases(3, '100 per transaction'), ...RATE },
  { number: 9, what: 'one client, gathered, relative to a bare loop', of: clients(1)('shared log, gathered'), over: [clients(1)('bare loop')], ...RATE, least: 0.6 },
  { number: 9, what: '3 clients, gathered, relative to a bare loop', of: clients(3)('shared log, gathered'), over: [clients(3)('bare loop')], ...RATE, least: 0.6 },
  { number: 9, what: '8 clients, gathered, relative to a bare loop', of: clients(8)('shared log, gathered'), over: [clients(8)('bare loop')], ...RATE, least: 0.6 },
  { number: 9, what: 'a bare loop with 8 clients, relative to one', of: clients(8)('bare loop'), over: [clients(1)('bare loop')], ...RATE },
  { number: 9, what: '8 clients, gathered, relative to the same with ackInterval: 5', of: clients(8)('shared log, gathered'), over: [clients(8)('shared log, gathered, ackInterval: 5')], ...RATE },
  { number: 9, what: 'one client, lock-step, relative to rave-level with an idle leader', of: clients(1)('shared log, lock-step'), over: [clients(1)('rave-level, put, idle leader')], ...RATE, least: 1 },
  { number: 9, what: 'the same, relative to rave-level in the process of its leader', of: clients(1)('shared log, lock-step'), over: [clients(1)('rave-level, put')], ...RATE, least: 1 },
  { number: 9, what: '3 clients, lock-step, relative to 3 processes with rave-level', of: clients(3)('shared log, lock-step'), over: [clients(3)('rave-level, put')], ...RATE, least: 1 },
  { number: 10, what: 'from SIGKILL of the owner to the next acknowledgement, median of 100', of: takeover, over: [], ...DURATION },
  { number: 10, what: 'the same, worst of 100', of: takeover, over: [], ...DURATION, by: ({ latency }) => latency.worst }
]

const program = {
  usage: 'npm run bench:check -- [options]',
  takesNames: false,
  own: {
    only: { value: '1,3', help: 'only the targets with these numbers' },
    markdown: { value: 'FILE', help: 'also write the table to this file' }
  },
  check: checkOwn
}

main()

async function main () {
  const { values, rounds = ROUNDS.check, folder } = settings(program)
  const wanted = ratios.filter(({ number }) => values.only === undefined || numbersIn(values.only).includes(number))
  const measured = await measureAll(wanted.flatMap(({ of, over }) => [of, ...over]), { size: 'check', folder }, rounds)

  const judged = table(['', 'ratio', 'target', 'result', 'measured', ''], wanted.map(ratio => judge(ratio, measured, rounds)), Array(6).fill('---'))
  console.log(judged)
  if (values.markdown !== undefined) fs.writeFileSync(values.markdown, pageOf(judged, rounds))
}

/** @param {string} list numbers separated by commas */
function numbersIn (list) {
  return list.split(',').map(Number)
}

/** @param {{ only?: string, markdown?: string }} values */
function checkOwn ({ only, markdown }) {
  const numbers = new Set(ratios.map(({ number }) => number))
  const wrong = only?.split(',').find(number => !numbers.has(Number(number)))
  if (wrong !== undefined) throw new Error(`--only takes numbers from 1 to ${Math.max(...numbers)} separated by commas, not '${wrong}'`)
  if (markdown !== undefined && !fs.existsSync(path.dirname(path.resolve(markdown)))) throw new Error(`the directory of ${markdown} does not exist`)
}

/**
 * @param {string} judged the table
 * @param {number} rounds
 */
function pageOf (judged, rounds) {
  const about = environment()
  return `# Targets and results

${place(about)}. Written by \`npm run bench:check -- --markdown bench/check.md\`; [what each layer costs](../docs/speed.md).

${versions(about)}.

Records have 155 bytes; sequential reads cover ${(1e6).toLocaleString('en')} of them. Each row runs in a process of its own, rows alternate for ${rounds} rounds,
and a ratio is the median of the ratios of the rounds. Each sequential read opens the log again, with an empty cache, while the page cache
contains the file; it is repeated for at least 0.5 s, and at least twice, before it is timed for at least 1 s. Bursts of appends
are repeated twice before they are timed. The same holds for all stores. Where several processes write, all are new, and write for 3 s.
Ratios without a target are informative.

${judged}
`
}

/**
 * @param {Place[]} places
 * @param {import('./helpers/runner').Settings} settings
 * @param {number} rounds
 * @returns {Promise<Map<string, object[]>>} by place: one measurement per round
 */
async function measureAll (places, settings, rounds) {
  const keys = new Set(places.map(keyOf))
  const measured = new Map()
  const progress = new Progress(keys.size * rounds)
  for (const name of new Set(places.map(({ file }) => file))) {
    const file = require(`./${name}`)
    const bench = new Bench(file, settings, progress)
    const rows = bench.groups.flatMap((_, group) => bench.rowsOf(group))
      .filter(({ group, row }) => keys.has(keyOf({ file: name, group: bench.groups[group].name, row: bench.groups[group].rows[row].name })))
    for (const line of await bench.measure(rows, rounds)) {
      const key = keyOf(line)
      if (!measured.has(key)) measured.set(key, [])
      measured.get(key).push(line)
    }
    bench.close()
  }
  return measured
}

/** @param {Place} place */
function keyOf ({ file, group, row }) {
  return [file, group, row].join(': ')
}

/**
 * @param {Ratio} ratio
 * @param {Map<string, object[]>} measured
 * @param {number} rounds
 * @returns {Array<string | number>} a row of the table
 */
function judge ({ number, what, of, over, by, format, least, most }, measured, rounds) {
  const target = [least === undefined ? '' : `at least ${least}`, most === undefined ? '' : `at most ${most}`].filter(Boolean).join(', ')
  const linesAt = (place) => (measured.get(keyOf(place)) ?? []).filter(({ part, error }) => part === place.part || error)
  const ours = linesAt(of)
  const baselines = over.map(linesAt).filter(lines => lines.length === rounds && !lines[0].error)
  if (ours.length < rounds || ours[0].error || (over.length > 0 && baselines.length === 0)) {
    const failed = [...ours, ...over.flatMap(linesAt)].find(({ error }) => error)
    return [number, what, target, 'not measured', failed?.error ?? '', '']
  }
  const ratio = median(ours.map((line, round) => {
    return baselines.length === 0 ? by(line) : by(line) / Math.max(...baselines.map(lines => by(lines[round])))
  }))
  const best = baselines.sort((a, b) => median(b.map(by)) - median(a.map(by)))[0]
  const figures = [ours, best].filter(Boolean).map(lines => format(median(lines.map(by)))).join(' over ')
  const isMissed = (least !== undefined && ratio < least) || (most !== undefined && ratio > most)
  const name = over.length > 1 ? `${what} (${best[0].row})` : what
  return [number, name, target, ratio.toPrecision(3), figures, target === '' ? '' : isMissed ? 'MISSED' : 'met']
}
