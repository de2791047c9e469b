'use strict'

// Measures what the log is to reach beside its yardsticks, and says for each what
// was asked and what was measured. A ratio is the median of those of the rounds:
// in one round, one comes right after the other. With --markdown FILE the table is
// written there, too, with the machine and the versions.

const fs = require('fs')
const path = require('path')
const { settings } = require('./helpers/settings')
const { environment } = require('./helpers/environment')
const { table, place, versions } = require('./helpers/markdown')
const { Bench, ROUNDS } = require('./helpers/runner')
const { Progress } = require('./helpers/progress')
const { median } = require('./helpers/drive')
const { showCount, showBytes, showTime } = require('./helpers/results')

const OURS = 'flumelog-random-access-file'
const MB = 1e6

/** @type {(file: string, group: string) => (row: string) => Place} */
const rowsIn = (file, group) => (row) => ({ file, group, row })

const layer = rowsIn('layers', 'blocks of 64 KiB')
const reader = rowsIn('layers', 'read by others')
const append16 = rowsIn('append', '16 in flight')
const append1024 = rowsIn('append', '1024 in flight')
const atOnce = rowsIn('append', '500,000 at once')
const synced = rowsIn('append', 'each synced, 1024 in flight')
const option = rowsIn('append', 'what options cost, 1024 in flight')
const inside = rowsIn('random', 'inside the cache, 1 in flight')
const beyond = rowsIn('random', 'ten times beyond the cache, 1 in flight')
const beyond1024 = rowsIn('random', 'ten times beyond the cache, 1024 in flight')
const small = rowsIn('scale', 'a log of 4 MB')
const medium = rowsIn('scale', 'a log of 100 MB')
const large = rowsIn('scale', 'a log of 4,000 MB')
const burst = (count) => ({ file: 'burst', group: `${count} at once`, row: OURS })

/** All that keep what is appended. */
const others = require('./peers').filter(({ name, isVolatile }) => name !== OURS && !isVolatile).map(({ name }) => name)

/**
 * @typedef {{ file: string, group: string, row: string }} Place
 * @typedef {object} Ratio
 * @property {number} number in the list of what the log is to reach
 * @property {string} what
 * @property {Place} of
 * @property {Place[]} over the best of them is the yardstick
 * @property {(measure: object) => number} by what is compared
 * @property {(value: number) => string} show
 * @property {number} [least] asked; neither least nor most: it is only to be known
 * @property {number} [most]
 */

const RATE = { by: ({ records, seconds }) => records / seconds, show: (rate) => `${showCount(rate)}/s` }
const TIME = { by: ({ seconds }) => -seconds, show: (seconds) => showTime(-seconds * 1000) }
const DURATION = { by: ({ milliseconds }) => milliseconds, show: showTime }
const MEMORY = { by: ({ peakMemory }) => peakMemory, show: showBytes }

/** @type {Ratio[]} */
const ratios = [
  { number: 1, what: 'stream, over that of async-append-only-log', of: reader(OURS), over: [reader('async-append-only-log')], ...RATE, least: 3 },
  { number: 1, what: 'stream, over that of flumelog-offset', of: reader(OURS), over: [reader('flumelog-offset')], ...RATE, least: 6 },
  { number: 1, what: 'time of stream, over that of reading block after block through random-access-file', of: layer('stream'), over: [layer('random-access-file')], ...TIME, most: 1 },
  { number: 1, what: 'stream, over a bare loop that reads, and makes a Buffer and an object a record', of: layer('stream'), over: [layer('bare stream')], ...RATE },
  { number: 1, what: 'such a bare loop, over async-append-only-log', of: layer('bare stream'), over: [reader('async-append-only-log')], ...RATE },
  { number: 1, what: 'time of such a bare loop, over that of reading block after block through random-access-file', of: layer('bare stream'), over: [layer('random-access-file')], ...TIME },
  { number: 2, what: 'scan, over stream', of: layer('scan'), over: [layer('stream')], ...RATE, least: 2 },
  { number: 2, what: 'scan, over stream, both with checksum: false', of: layer('scan, checksum: false'), over: [layer('stream, checksum: false')], ...RATE, least: 3 },
  { number: 2, what: 'scan with reuse: true, over stream', of: layer('scan, reuse'), over: [layer('stream')], ...RATE },
  { number: 2, what: 'the same, both with checksum: false', of: layer('scan, reuse, checksum: false'), over: [layer('stream, checksum: false')], ...RATE },
  { number: 2, what: 'values: false, over stream', of: layer('values: false'), over: [layer('stream')], ...RATE, least: 1.3 },
  { number: 3, what: 'reverse, over stream', of: layer('reverse'), over: [layer('stream')], ...RATE, least: 0.8 },
  { number: 4, what: 'appends, 16 in flight, over flumelog-offset', of: append16(OURS), over: [append16('flumelog-offset')], ...RATE, least: 2 },
  { number: 4, what: 'appends, 1024 in flight, over better-sqlite3, synchronous=OFF', of: append1024(OURS), over: [append1024('better-sqlite3')], ...RATE, least: 2 },
  { number: 4, what: '500,000 appends at once, over the best peer', of: atOnce(OURS), over: others.map(atOnce), ...RATE, least: 2 },
  { number: 4, what: 'time of 500,000 appends at once, over fs.write of the same bytes, 1 MiB at a time', of: atOnce(OURS), over: [atOnce('fs.write, 1 MiB pieces')], ...TIME, most: 2 },
  { number: 4, what: '500,000 appends at once, over 10,000 at once', of: burst('500,000'), over: [burst('10,000')], ...RATE, least: 0.9 },
  { number: 4, what: '500,000 appends at once, over a bare loop that copies, writes and calls back', of: atOnce(OURS), over: [atOnce('bare loop')], ...RATE },
  { number: 4, what: 'time of such a bare loop, over fs.write of the same bytes, 1 MiB at a time', of: atOnce('bare loop'), over: [atOnce('fs.write, 1 MiB pieces')], ...TIME },
  { number: 5, what: 'synced appends, 1024 in flight, over better-sqlite3, synchronous=FULL', of: synced(OURS), over: [synced('better-sqlite3')], ...RATE, least: 5 },
  { number: 5, what: 'the same, over better-sqlite3 with what is in flight in one transaction', of: synced(OURS), over: [synced('better-sqlite3, grouped')], ...RATE, least: 1 },
  { number: 6, what: 'get inside the cache, one after the other, over flumelog-offset', of: inside(OURS), over: [inside('flumelog-offset')], ...RATE, least: 10 },
  { number: 6, what: 'the same, over flumelog-aligned-offset', of: inside(OURS), over: [inside('flumelog-aligned-offset')], ...RATE, least: 1 },
  { number: 6, what: 'get ten times beyond the cache, one after the other, over flumelog-offset', of: beyond(OURS), over: [beyond('flumelog-offset')], ...RATE, least: 4 },
  { number: 6, what: 'the same, 1024 in flight', of: beyond1024(OURS), over: [beyond1024('flumelog-offset')], ...RATE, least: 4 },
  { number: 6, what: 'get ten times beyond the cache, one after the other, over lmdb', of: beyond(OURS), over: [beyond('lmdb')], ...RATE },
  { number: 6, what: 'the same, 1024 in flight', of: beyond1024(OURS), over: [beyond1024('lmdb')], ...RATE },
  { number: 7, what: 'opening 4 GB, over opening 4 MB', of: large('open'), over: [small('open')], ...DURATION, most: 1.5 },
  { number: 7, what: 'most memory of a scan of 4 GB, over that of 100 MB', of: large('memory of a scan'), over: [medium('memory of a scan')], ...MEMORY, least: 0.9, most: 1.1 },
  { number: 7, what: 'most memory of a scan of 4 GB, in MB', of: large('memory of a scan'), over: [], ...MEMORY, by: ({ peakMemory }) => peakMemory / MB, show: (mb) => showBytes(mb * MB), most: 200 },
  { number: 8, what: 'appends, 1024 in flight, over those with checksum: false', of: option('by default'), over: [option('checksum: false')], ...RATE },
  { number: 8, what: 'appends, 1024 in flight, over those with sync: never', of: option('by default'), over: [option('sync: never')], ...RATE },
  { number: 8, what: 'appends, 1024 in flight, over those with lock: false', of: option('by default'), over: [option('lock: false')], ...RATE },
  { number: 8, what: 'scan, over one with checksum: false', of: layer('scan'), over: [layer('scan, checksum: false')], ...RATE },
  { number: 8, what: 'stream, over one with checksum: false', of: layer('stream'), over: [layer('stream, checksum: false')], ...RATE },
  { number: 8, what: 'opening 4 MB, over opening it with lock: false', of: small('open'), over: [small('open, lock: false')], ...DURATION }
]

const program = {
  usage: 'npm run bench:check -- [options]',
  takesNames: false,
  own: {
    only: { value: '1,3', help: 'only what is asked under these numbers' },
    markdown: { value: 'FILE', help: 'write the table into this file, too' }
  },
  check: checkOwn
}

main()

async function main () {
  const { values, rounds = ROUNDS.check, folder } = settings(program)
  const wanted = ratios.filter(({ number }) => values.only === undefined || numbersIn(values.only).includes(number))
  const measured = await measureAll(wanted.flatMap(({ of, over }) => [of, ...over]), { size: 'check', folder }, rounds)

  const judged = table(['', 'what', 'asked', 'measured', 'of', ''], wanted.map(ratio => judge(ratio, measured, rounds)), Array(6).fill('---'))
  console.log(judged)
  if (values.markdown !== undefined) fs.writeFileSync(values.markdown, pageOf(judged, rounds))
}

/** @param {string} list numbers with commas between them */
function numbersIn (list) {
  return list.split(',').map(Number)
}

/** @param {{ only?: string, markdown?: string }} values */
function checkOwn ({ only, markdown }) {
  const numbers = new Set(ratios.map(({ number }) => number))
  const wrong = only?.split(',').find(number => !numbers.has(Number(number)))
  if (wrong !== undefined) throw new Error(`--only takes numbers from 1 to ${Math.max(...numbers)} with commas between them, not '${wrong}'`)
  if (markdown !== undefined && !fs.existsSync(path.dirname(path.resolve(markdown)))) throw new Error(`there is no folder for ${markdown}`)
}

/**
 * @param {string} judged the table
 * @param {number} rounds
 */
function pageOf (judged, rounds) {
  const about = environment()
  return `# What was asked, and what was measured

${place(about)}. Written by \`npm run bench:check -- --markdown bench/check.md\`; [what costs what](../docs/speed.md).

${versions(about)}.

Records have 155 bytes, ${(1e6).toLocaleString('en')} of them where all are read. Each row runs in a process of its own, the rows take turns for ${rounds} rounds,
and a ratio is the median of the rounds' ratios. Reads begin anew each time, with an empty cache of the log and a full one of the operating
system; they are repeated for at least 0.5 s, and at least twice, before they are timed for at least 1 s. Appends
that all come at once are made twice before they are timed. It is the same for all.
Where nothing is asked, the figure is there to be known.

${judged}
`
}

/**
 * @param {Place[]} places
 * @param {import('./helpers/runner').Settings} settings
 * @param {number} rounds
 * @returns {Promise<Map<string, object[]>>} measures, a round each, by place
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
function judge ({ number, what, of, over, by, show, least, most }, measured, rounds) {
  const asked = [least === undefined ? '' : `at least ${least}`, most === undefined ? '' : `at most ${most}`].filter(Boolean).join(', ')
  const ours = measured.get(keyOf(of)) ?? []
  const yardsticks = over.map(place => measured.get(keyOf(place)) ?? []).filter(lines => lines.length === rounds && !lines[0].error)
  if (ours.length < rounds || ours[0].error || (over.length > 0 && yardsticks.length === 0)) {
    const failed = [...ours, ...over.flatMap(place => measured.get(keyOf(place)) ?? [])].find(({ error }) => error)
    return [number, what, asked, 'not measured', failed?.error ?? '', '']
  }
  const ratio = median(ours.map((line, round) => {
    return yardsticks.length === 0 ? by(line) : by(line) / Math.max(...yardsticks.map(lines => by(lines[round])))
  }))
  const best = yardsticks.sort((a, b) => median(b.map(by)) - median(a.map(by)))[0]
  const figures = [ours, best].filter(Boolean).map(lines => show(median(lines.map(by)))).join(' over ')
  const isMissed = (least !== undefined && ratio < least) || (most !== undefined && ratio > most)
  const name = over.length > 1 ? `${what} (${best[0].row})` : what
  return [number, name, asked, ratio.toPrecision(3), figures, asked === '' ? '' : isMissed ? 'MISSED' : 'reached']
}
