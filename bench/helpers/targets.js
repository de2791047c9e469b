'use strict'

// The ratios that `npm run bench:check` judges, in the full size.

const peers = require('../peers')
const { formatCount, formatBytes, formatTime } = require('./results')

const OURS = 'flumelog-random-access-file'
const MB = 1e6

/**
 * @typedef {{ file: string, group: string, row: string, part?: string }} Place of a row
 * @typedef {{ least?: number, most?: number }} Bounds
 * @typedef {object} Target
 * @property {number} number of the section in docs/speed.md
 * @property {string} what is compared
 * @property {Place} of
 * @property {Place[]} over the best of them is the baseline; without any, the value itself is judged
 * @property {Bounds} [cold] bounds for the first pass in a fresh process
 * @property {Bounds} [warm] bounds for later passes; without either, the ratio is informative
 * @property {(measure: object) => number} by the figure to compare; of several baselines, the one with most is the best
 * @property {(value: number) => string} format
 */

const RATE = { by: ({ records, seconds }) => records / seconds, format: (rate) => `${formatCount(rate)}/s` }
const TIME = { by: ({ seconds }) => -seconds, format: (seconds) => formatTime(-seconds * 1000) }
const DURATION = { by: ({ milliseconds }) => milliseconds, format: formatTime }
/** of one call */
const LATENCY = { by: ({ latency }) => latency?.median, format: formatTime }
const FRAMES = { by: RATE.by, format: (rate) => `${rate.toFixed(1)}/s` }
const MEMORY = { by: ({ memory }) => memory, format: formatBytes }

/** @type {(file: string, group: string) => (row: string) => Place} */
const rowsIn = (file, group) => (row) => ({ file, group, row })
/** @type {(least: number) => Bounds} */
const atLeast = (least) => ({ least })
/** @type {(most: number) => Bounds} */
const atMost = (most) => ({ most })

const layer = rowsIn('layers', 'blocks of 64 KiB')
const reader = rowsIn('layers', 'sequential read, all stores')
const append = (inFlight) => rowsIn('append', `${inFlight} in flight`)
const synced = rowsIn('append', 'synced append, 1024 in flight')
const option = rowsIn('append', 'cost of options, 1024 in flight')
const burst = rowsIn('burst', '1,000,000 at once')
const early = rowsIn('early', '1,000,000 appends')
const inside = rowsIn('random', 'in cache, 1 in flight')
const beyond = (inFlight) => rowsIn('random', `beyond the cache, ${inFlight} in flight`)
const busy = (inFlight) => rowsIn('random', `beyond the cache, ${inFlight} in flight, 2 other processes busy`)
const codec = rowsIn('codecs', 'a field of all records')
const flumedb1024 = rowsIn('flumedb', '1024 in flight')
const flumedbAtOnce = rowsIn('flumedb', '200,000 at once')
const imported = rowsIn('commands', 'import of 1,000,000 lines')
const exported = rowsIn('commands', 'export of 1,000,000 lines')
const small = rowsIn('scale', 'a log of 4 MB')
const medium = rowsIn('scale', 'a log of 100 MB')
const large = rowsIn('scale', 'a log of 4,000 MB')
/** Processes that write at the same time. */
const clients = (count) => rowsIn('clients', count === 1 ? '1 client' : `${count} clients`)
const databases = (count, transactions) => ['better-sqlite3', 'lmdb'].map(name => clients(count)(`${name}, ${transactions}`))
const compaction = rowsIn('space-compact', 'compaction of 1001 MB, 1,400,000 records, 5 % deleted')
const backup = rowsIn('space-backup', 'a log of 1,000 MB')
/** Of a log in a stream and of the bare client. */
const SERVERS = ['one server, default sync_interval', 'three servers, default sync_interval', 'one server, sync_interval: always', 'three servers, sync_interval: always']
const onServers = (group, part) => (row) => ({ file: 'jetstream', group, row, part })
const viewed = rowsIn('view', 'a log of 4,000 MB')
const moved = rowsIn('space-import', 'import of 1000 MB, records of 155 bytes')
/** @type {(group: string, part?: string) => (row: string) => Place} */
const ssb = (group, part) => (row) => ({ file: 'ssb', group, row, part })
const ASYNC = 'async-append-only-log'
const takeover = { ...rowsIn('clients', 'from SIGKILL of the owner to the next acknowledgement')('takeover'), part: 'all' }

/** Peers that store what is appended. */
const others = peers.filter(({ name, isVolatile }) => name !== OURS && !isVolatile).map(({ name }) => name)
const MOMENTS = ['before it is open', 'after it is open', 'in a listener of since']
const earlyRows = (names) => names.flatMap(name => MOMENTS.map(moment => early(`${name}, ${moment}`)))
const READ = 'fs.readSync, 2 KiB'

/** @type {Target[]} */
const targets = [
  { number: 1, what: 'stream, relative to flumelog-offset', of: reader(OURS), over: [reader('flumelog-offset')], ...RATE, warm: atLeast(6) },
  { number: 1, what: 'time of stream, relative to reading block by block through random-access-file', of: layer('stream'), over: [layer('random-access-file')], ...TIME, warm: atMost(1) },
  { number: 1, what: 'stream, relative to a bare loop that reads, and creates a Buffer and an object per record', of: layer('stream'), over: [layer('bare stream')], ...RATE },
  { number: 1, what: 'that bare loop, relative to async-append-only-log', of: layer('bare stream'), over: [reader('async-append-only-log')], ...RATE },
  { number: 1, what: 'time of that bare loop, relative to reading block by block through random-access-file', of: layer('bare stream'), over: [layer('random-access-file')], ...TIME },
  { number: 2, what: 'scan, relative to stream', of: layer('scan'), over: [layer('stream')], ...RATE, warm: atLeast(2) },
  { number: 2, what: 'scan, relative to stream, both with checksum: false', of: layer('scan, checksum: false'), over: [layer('stream, checksum: false')], ...RATE, warm: atLeast(3) },
  { number: 2, what: 'scan with reuse: true, relative to stream', of: layer('scan, reuse'), over: [layer('stream')], ...RATE },
  { number: 2, what: 'the same, both with checksum: false', of: layer('scan, reuse, checksum: false'), over: [layer('stream, checksum: false')], ...RATE },
  { number: 2, what: 'values: false, relative to stream', of: layer('values: false'), over: [layer('stream')], ...RATE, warm: atLeast(1.3) },
  { number: 3, what: 'reverse, relative to stream', of: layer('reverse'), over: [layer('stream')], ...RATE, warm: atLeast(0.8) },
  { number: 4, what: 'appends, 16 in flight, relative to flumelog-offset', of: append(16)(OURS), over: [append(16)('flumelog-offset')], ...RATE, warm: atLeast(2) },
  { number: 4, what: 'appends, 1024 in flight, relative to better-sqlite3, synchronous=OFF', of: append(1024)(OURS), over: [append(1024)('better-sqlite3')], ...RATE, warm: atLeast(2) },
  { number: 4, what: '1,000,000 appends at once, relative to the best peer', of: burst(OURS), over: others.map(burst), ...RATE, warm: atLeast(2) },
  { number: 4, what: 'time of 1,000,000 appends at once, relative to fs.write of the same bytes, 1 MiB at a time', of: burst(OURS), over: [burst('fs.write, 1 MiB chunks')], ...TIME, warm: atMost(2) },
  { number: 4, what: '1,000,000 appends at once, relative to 10,000 at once', of: burst(OURS), over: [rowsIn('burst', '10,000 at once')(OURS)], ...RATE, warm: atLeast(0.9) },
  { number: 4, what: '1,000,000 appends at once, relative to a bare loop that copies, writes and calls back', of: burst(OURS), over: [burst('bare loop')], ...RATE },
  { number: 4, what: 'time of that bare loop, relative to fs.write of the same bytes, 1 MiB at a time', of: burst('bare loop'), over: [burst('fs.write, 1 MiB chunks')], ...TIME },
  { number: 5, what: 'synced appends, 1024 in flight, relative to better-sqlite3, synchronous=FULL', of: synced(OURS), over: [synced('better-sqlite3')], ...RATE, warm: atLeast(5) },
  { number: 5, what: 'the same, relative to better-sqlite3 with one transaction for all that are in flight', of: synced(OURS), over: [synced('better-sqlite3, grouped')], ...RATE, warm: atLeast(1) },
  { number: 6, what: 'get in cache, 1 in flight, relative to flumelog-offset', of: inside(OURS), over: [inside('flumelog-offset')], ...RATE },
  { number: 6, what: 'the same, relative to flumelog-aligned-offset', of: inside(OURS), over: [inside('flumelog-aligned-offset')], ...RATE, warm: atLeast(1) },
  { number: 6, what: 'get beyond the cache, 1 in flight, relative to flumelog-offset', of: beyond(1)(OURS), over: [beyond(1)('flumelog-offset')], ...RATE, warm: atLeast(4) },
  { number: 6, what: 'the same, 1024 in flight', of: beyond(1024)(OURS), over: [beyond(1024)('flumelog-offset')], ...RATE, warm: atLeast(4) },
  { number: 7, what: 'opening 4 GB, relative to 4 MB', of: large('open'), over: [small('open')], ...DURATION, warm: atMost(1.5) },
  { number: 7, what: 'peak RSS of a scan of 4 GB, relative to 100 MB', of: large('peak RSS of a scan'), over: [medium('peak RSS of a scan')], ...MEMORY, cold: { least: 0.9, most: 1.1 } },
  { number: 7, what: 'peak RSS of a scan of 4 GB, in MB', of: large('peak RSS of a scan'), over: [], by: ({ memory }) => memory / MB, format: (mb) => formatBytes(mb * MB), cold: atMost(200) },
  { number: 8, what: 'appends, 1024 in flight, relative to checksum: false', of: option('defaults'), over: [option('checksum: false')], ...RATE },
  { number: 8, what: 'appends, 1024 in flight, relative to sync: never', of: option('defaults'), over: [option('sync: never')], ...RATE },
  { number: 8, what: 'appends, 1024 in flight, relative to lock: false', of: option('defaults'), over: [option('lock: false')], ...RATE },
  { number: 8, what: 'scan, relative to checksum: false', of: layer('scan'), over: [layer('scan, checksum: false')], ...RATE },
  { number: 8, what: 'stream, relative to checksum: false', of: layer('stream'), over: [layer('stream, checksum: false')], ...RATE },
  { number: 8, what: 'opening 4 MB, relative to lock: false', of: small('open'), over: [small('open, lock: false')], ...DURATION },
  { number: 9, what: 'one client, gathered, relative to lock-step', of: clients(1)('shared log, gathered'), over: [clients(1)('shared log, lock-step')], ...RATE, cold: atLeast(20) },
  { number: 9, what: '3 clients together, gathered, relative to one', of: clients(3)('shared log, gathered'), over: [clients(1)('shared log, gathered')], ...RATE, cold: atLeast(1) },
  { number: 9, what: '8 clients together, gathered, relative to one', of: clients(8)('shared log, gathered'), over: [clients(1)('shared log, gathered')], ...RATE, cold: atLeast(0.8) },
  { number: 9, what: '3 clients together, gathered, relative to 3 processes that write a database, one transaction per record', of: clients(3)('shared log, gathered'), over: databases(3, '1 per transaction'), ...RATE, cold: atLeast(5) },
  { number: 9, what: 'the same, 100 records per transaction', of: clients(3)('shared log, gathered'), over: databases(3, '100 per transaction'), ...RATE, cold: atLeast(1.5) },
  { number: 9, what: 'a bare loop with 3 clients, relative to these', of: clients(3)('bare loop'), over: databases(3, '100 per transaction'), ...RATE },
  { number: 9, what: 'one client, gathered, relative to a bare loop', of: clients(1)('shared log, gathered'), over: [clients(1)('bare loop')], ...RATE, cold: atLeast(0.6) },
  { number: 9, what: '3 clients, gathered, relative to a bare loop', of: clients(3)('shared log, gathered'), over: [clients(3)('bare loop')], ...RATE, cold: atLeast(0.6) },
  { number: 9, what: '8 clients, gathered, relative to a bare loop', of: clients(8)('shared log, gathered'), over: [clients(8)('bare loop')], ...RATE, cold: atLeast(0.6) },
  { number: 9, what: 'a bare loop with 8 clients, relative to one', of: clients(8)('bare loop'), over: [clients(1)('bare loop')], ...RATE },
  { number: 9, what: 'one client, lock-step, relative to rave-level with an idle leader', of: clients(1)('shared log, lock-step'), over: [clients(1)('rave-level, put, idle leader')], ...RATE, cold: atLeast(1) },
  { number: 9, what: 'the same, relative to rave-level in the process of its leader', of: clients(1)('shared log, lock-step'), over: [clients(1)('rave-level, put')], ...RATE, cold: atLeast(1) },
  { number: 9, what: '3 clients, lock-step, relative to 3 processes with rave-level', of: clients(3)('shared log, lock-step'), over: [clients(3)('rave-level, put')], ...RATE, cold: atLeast(1) },
  { number: 10, what: 'from SIGKILL of the owner to the next acknowledgement, median of 100', of: takeover, over: [], ...DURATION },
  { number: 10, what: 'the same, worst of 100', of: takeover, over: [], ...DURATION, by: ({ latency }) => latency.worst },
  { number: 11, what: '1,000,000 appends before the log is open, relative to after', of: early(`${OURS}, before it is open`), over: [early(`${OURS}, after it is open`)], ...RATE, cold: atLeast(0.9) },
  { number: 11, what: 'the same in a listener of since', of: early(`${OURS}, in a listener of since`), over: [early(`${OURS}, after it is open`)], ...RATE, cold: atLeast(0.9) },
  { number: 11, what: '1,000,000 appends before the log is open, relative to async-append-only-log at its best', of: early(`${OURS}, before it is open`), over: earlyRows(['async-append-only-log']), ...RATE, cold: atLeast(2) },
  { number: 11, what: 'the same, relative to the best peer', of: early(`${OURS}, before it is open`), over: earlyRows(others), ...RATE, cold: atLeast(1.5) },
  { number: 11, what: 'the same: growth of RSS up to its peak, relative to the bytes appended', of: early(`${OURS}, before it is open`), over: [], by: ({ growth, bytes }) => growth / bytes, format: (ratio) => ratio.toFixed(2), cold: atMost(2.2) },
  { number: 12, what: 'appends, 1 in flight, relative to better-sqlite3, synchronous=OFF', of: append(1)(OURS), over: [append(1)('better-sqlite3')], ...RATE, cold: atLeast(2) },
  { number: 12, what: 'the same, 16 in flight', of: append(16)(OURS), over: [append(16)('better-sqlite3')], ...RATE, cold: atLeast(2) },
  { number: 12, what: 'appends, 1024 in flight, relative to flumelog-offset', of: append(1024)(OURS), over: [append(1024)('flumelog-offset')], ...RATE, cold: atLeast(1.7) },
  ...[1, 16, 1024].flatMap(inFlight => [
    { number: 13, what: `get beyond the cache, ${inFlight} in flight, relative to lmdb`, of: beyond(inFlight)(OURS), over: [beyond(inFlight)('lmdb')], ...RATE, cold: atLeast(1.2) },
    { number: 13, what: 'the same, relative to fs.readSync of 2 KiB', of: beyond(inFlight)(OURS), over: [beyond(inFlight)(READ)], ...RATE, cold: atLeast(0.6) },
    { number: 13, what: 'the same, while two other processes are busy', of: busy(inFlight)(OURS), over: [busy(inFlight)(READ)], ...RATE, cold: atLeast(0.5) }
  ]),
  { number: 14, what: 'stream of JSON, relative to a bare loop over the same file', of: codec('stream of JSON'), over: [codec('bare loop: JSON.parse(block.utf8Slice())')], ...RATE, cold: atLeast(0.95) },
  { number: 14, what: 'the same, relative to readline and JSON.parse', of: codec('stream of JSON'), over: [codec('readline and JSON.parse')], ...RATE, cold: atLeast(1.5) },
  { number: 14, what: 'the same, relative to flumelog-offset with the same codec', of: codec('stream of JSON'), over: [codec('flumelog-offset, JSON')], ...RATE, cold: atLeast(2) },
  { number: 14, what: 'the same, relative to async-append-only-log with the same codec', of: codec('stream of JSON'), over: [codec('async-append-only-log, JSON')], ...RATE, cold: atLeast(1.5) },
  { number: 14, what: 'scan of bipf, one field sought in place, relative to scan of JSON, parsed', of: codec('scan of bipf, one field sought in place'), over: [codec('scan of JSON, parsed')], ...RATE },
  { number: 15, what: 'stream, relative to async-append-only-log', of: reader(OURS), over: [reader('async-append-only-log')], ...RATE, cold: atLeast(2.5), warm: atLeast(3) },
  { number: 15, what: 'for await of batches, relative to the pull-stream', of: layer('for await of batches'), over: [layer('stream')], ...RATE, cold: atLeast(1), warm: atLeast(1) },
  { number: 16, what: 'appends through flumedb, 200,000 at once, relative to flumelog-offset', of: flumedbAtOnce(OURS), over: [flumedbAtOnce('flumelog-offset')], ...RATE, cold: atLeast(2) },
  { number: 16, what: 'the same, 1024 in flight', of: flumedb1024(OURS), over: [flumedb1024('flumelog-offset')], ...RATE, cold: atLeast(2) },
  { number: 16, what: 'the same, relative to flumelog-aligned-offset', of: flumedb1024(OURS), over: [flumedb1024('flumelog-aligned-offset')], ...RATE, cold: atLeast(2) },
  { number: 17, what: '`flumelog append`, relative to `sqlite3 .import`', of: imported('flumelog append'), over: [imported('sqlite3 .import')], ...RATE, cold: atLeast(1.5) },
  { number: 17, what: 'the same, with synchronous=OFF and no journal', of: imported('flumelog append'), over: [imported('sqlite3 .import, synchronous=OFF')], ...RATE },
  { number: 17, what: '`flumelog dump`, relative to `sqlite3 SELECT`', of: exported('flumelog dump'), over: [exported('sqlite3 select')], ...RATE, cold: atLeast(1.5) },
  { number: 17, what: 'the same, relative to `mdb_dump`', of: exported('flumelog dump'), over: [exported('mdb_dump')], ...RATE, cold: atLeast(1.5) },
  { number: 18, what: 'compaction, relative to async-append-only-log', of: compaction(OURS), over: [compaction('async-append-only-log')], ...RATE, cold: atLeast(5) },
  { number: 18, what: 'the same, relative to better-sqlite3, VACUUM', of: compaction(OURS), over: [compaction('better-sqlite3, VACUUM')], ...RATE },
  { number: 18, what: 'the same, relative to classic-level, compactRange', of: compaction(OURS), over: [compaction('classic-level, compactRange')], ...RATE },
  { number: 18, what: 'longest append during a compaction, in ms', of: { ...compaction(`${OURS}, appends meanwhile`), part: 'longest append' }, over: [], ...DURATION, cold: atMost(50) },
  { number: 19, what: 'backup, relative to cp', of: backup('backup'), over: [backup('cp')], ...RATE, cold: atLeast(0.5) },
  { number: 19, what: 'the same, relative to cp, fsynced', of: backup('backup'), over: [backup('cp, fsynced')], ...RATE },
  { number: 19, what: 'the same, relative to better-sqlite3: backup', of: backup('backup'), over: [backup('better-sqlite3: backup')], ...RATE },
  { number: 20, what: 'import of flumelog-offset-48, relative to a bare loop that makes a view of each record', of: moved('import of flumelog-offset-48'), over: [moved('bare loop: reads flumelog-offset, makes a view of each record')], ...RATE, cold: atLeast(0.5) },
  { number: 20, what: 'the same, relative to a copy of the file, fsynced', of: moved('import of flumelog-offset-48'), over: [moved('copy of the file, fsynced')], ...RATE },
  ...[
    ['ssb-db2: addBatch, until written', ssb('addBatch of 10,000 messages', 'written')],
    ['ssb-db2: add, until written', ssb('add of 10,000 messages, all at once', 'written')],
    ['ssb-db2: all indexes', ssb('ssb-db2: all indexes of 10,000 messages')],
    ['ssb-db2: a live query, until it has all', ssb('a live query of 10,000 messages', 'all')]
    // never slower, but for noise: most of it is the work of ssb-db2, which is the same
  ].map(([what, place]) => ({ number: 21, what: `${what}, relative to async-append-only-log`, of: place(OURS), over: [place(ASYNC)], ...RATE, cold: atLeast(0.95) })),
  ...[10000, 100000].map(count => ssb(`jitdb: indexes of ${count.toLocaleString('en')} messages`)).flatMap(build => [
    { number: 21, what: 'jitdb: an index build, relative to async-append-only-log', of: build(OURS), over: [build(ASYNC)], ...RATE, cold: atLeast(1.5) },
    { number: 21, what: 'the same of records in memory: what jitdb itself takes', of: build('records in memory'), over: [build(ASYNC)], ...RATE }
  ]),
  ...['the log', 'ssb-db2, with a query'].map(part => ssb('opening with 10,000 messages', part)).map(place => (
    { number: 21, what: `opening ${place(OURS).part}, relative to async-append-only-log`, of: place(OURS), over: [place(ASYNC)], ...DURATION, cold: atMost(1.05) }
  )),
  { number: 22, what: '`flumelog view`: first screen, in ms', of: viewed('first screen'), over: [], ...LATENCY, cold: atMost(300) },
  { number: 22, what: '`flumelog view`: jump, in ms', of: viewed('jump'), over: [], ...LATENCY, cold: atMost(50) },
  { number: 22, what: '`flumelog view`: frames while the list is scrolled', of: viewed('frames while the list is scrolled'), over: [], ...FRAMES, cold: atLeast(60) },
  ...SERVERS.flatMap(group => ['append, 1 in flight', 'append, 16 in flight', 'append, 1024 in flight', ...[2, 4, 10].flatMap(writers => [16, 1024].map(inFlight => `append, ${writers} writers, ${inFlight} in flight each`)), 'ordered reading', 'reverse', 'get, 1 in flight', 'get, 16 in flight'].map(part => onServers(group, part)).map(place => (
    { number: 23, what: `a log in a stream, ${group}: ${place('').part}, relative to a bare client`, of: place('log in a stream'), over: [place('bare client')], ...RATE, cold: atLeast(0.9) }
  ))),
  { number: 23, what: 'ordered reading of a log in a file with the same records, relative to the log in a stream', of: onServers(SERVERS[0], 'ordered reading')('log in a file'), over: [onServers(SERVERS[0], 'ordered reading')('log in a stream')], ...RATE }
]

module.exports = { targets }
