'use strict'

// A process that shares a log: appends, deletes and fsyncs all the time, follows the log, and
// tells what became of each call, until it is told to finish, or killed. If it is told to, it
// compacts the log. With `isReader`, it only follows. If the file is not under its name any more, it ends.

const pull = require('pull-stream')
const FlumeLog = require('../../..')
const layout = require('../../../lib/format/layout')
const { argument, tell, listen } = require('../processes')
const { numbered, sizeOf, isIntact, numberOf } = require('../numbered')
const { randomFrom } = require('../random')
const { MEMBER, NumberRanges } = require('../chaos/numbers')

/** Milliseconds between two looks at what is in progress, and looks after which it hangs; while this process is stopped, nothing counts. */
const LOOK = 100
const LOOKS = 300
const MOST = 60
/** Records of which it knows the seqs after a compaction. */
const MOST_MINE = 300
/** The folder was renamed: whoever notices has to open the log again, which another process does here. */
const REPLACED = 'flumelog:replaced'
const RETRIED = ['flumelog:unreachable', 'flumelog:locked', 'ENOSPC']

const { file, options, member, isReader, seed } = argument()
const random = randomFrom(seed)
let log
const seen = new NumberRanges()
const pending = new Map()
const told = []
let calls = 0
let made = 0
let acked = []
let isFinishing = false
let isOpen = false
let awaited = Infinity
let role = null

listen(({ finish, leave, sentinel, awaits, close, look, compact: isCompacting }) => {
  if (finish && isOpen && !isReader) started('verify', verify)
  if (finish) isFinishing = true
  if (finish && pending.size === 0) say({ what: 'finished', made })
  if (isCompacting && !isFinishing) started('compact', compact)
  if (leave || close) {
    isFinishing = true
    started('close', done => log.close((err) => {
      done()
      say({ what: 'closed', code: err?.code, message: err?.message, pending: [...pending.values()].map(({ what }) => what).filter(what => !['open', 'close'].includes(what)) })
      tellNow()
      process.exit()
    }))
  }
  if (sentinel) appendSentinel()
  if (awaits !== undefined) {
    awaited = awaits
    lookForAwaited()
  }
  if (look) say({ what: 'looked', role: log.role, stats: log.stats(), since: log.since.value, pending: [...pending.values()], seenUpTo: seen.lastSeq, hasSeen: seen.has(awaited) })
})

started('open', open)

function open (done) {
  log = FlumeLog(file, isReader ? { ...options, readOnly: true } : { ...options, shared: true })
  log.onReady((err) => {
    // nobody who could answer, or a full disk: as if it were started later
    if (RETRIED.includes(err?.code)) return setTimeout(open, 10, done)
    done()
    if (err) return say({ what: 'refused', code: err.code, message: err.message })
    say({ what: 'opened', role: log.role })
    follow()
    if (isReader) return
    log.onCompact(moved)
    isOpen = true
    work()
  })
}

setInterval(() => {
  if (log.role === role) return
  role = log.role
  say({ what: 'role', role })
  tellNow()
}, 1).unref()

setInterval(() => {
  const { refused } = log.stats()
  if (refused > 0) say({ what: 'wrong', why: `the owner has refused ${refused} clients, though all keep to the protocol` })
  for (const call of pending.values()) {
    // while much is appended and deleted, a compaction takes its time
    if (++call.looks !== (call.what === 'compact' ? 10 * LOOKS : LOOKS)) continue
    say({ what: 'hangs', call, role: log.role, stats: log.stats(), pending: pending.size })
  }
}, LOOK)

function say (message) {
  if (message.code === REPLACED && !isFinishing) {
    isFinishing = true
    log.close(() => {
      say({ what: 'replaced', pending: [...pending.values()].map(({ what }) => what).filter(what => !['open', 'close'].includes(what)) })
      tellNow()
      process.exit()
    })
  }
  if (told.push(message) === 1) setImmediate(tellNow)
}

function tellNow () {
  if (acked.length > 0) tell({ what: 'acked', acked })
  acked = []
  for (const message of told.splice(0)) tell(message)
}

// Following

function follow () {
  pull(log.stream({ live: true }), pull.drain(({ seq, value }) => {
    if (!isIntact(value)) return say({ what: 'wrong', why: `at ${seq} is no whole record` })
    const number = numberOf(value)
    const problem = seen.add(number, seq)
    if (problem !== null) say({ what: 'wrong', why: problem })
    if (number === awaited) lookForAwaited()
  }, (err) => {
    if (!isFinishing || (err && err.code !== 'flumelog:closed')) say({ what: 'ended', code: err?.code, message: err?.message })
  }))
}

function lookForAwaited () {
  if (seen.has(awaited)) say({ what: 'seen', ranges: seen.toJSON() })
}

// Calls

/** @param {(done: () => void) => void} call */
function started (what, call) {
  const id = ++calls
  pending.set(id, { what, looks: 0 })
  call(() => {
    pending.delete(id)
    if (isFinishing && pending.size === 0) say({ what: 'finished', made })
  })
}

function work () {
  if (isFinishing) return
  for (let count = 1 + random.below(12); count > 0 && pending.size < MOST; count--) act()
  setTimeout(work, random() < 0.3 ? 0 : random.below(25))
}

const mine = []

function act () {
  const dice = random()
  if (dice < 0.62) append(1, {})
  else if (dice < 0.72) append(1 + random.below(40), {})
  else if (dice < 0.78) append(1 + random.below(4), { atomic: true })
  else if (dice < 0.83) append(1, { sync: true })
  else if (dice < 0.96) erase()
  else started('sync', done => log.sync(err => answered('sync', err, done)))
}

function answered (what, err, done, more) {
  if (err) say({ what: 'error', of: what, more, code: err.code, message: err.message })
  done()
}

function append (count, appendOptions) {
  const most = layout.maxRecordSize(log.blockSize, options.checksum ?? true)
  const first = member * MEMBER + made + 1
  made += count
  const sizes = Array.from({ length: count }, (_, i) => sizeOf(first + i, Math.min(most, appendOptions.atomic ? most / count - 4 : 3000)))
  const records = sizes.map((size, i) => numbered(first + i, Math.floor(size)))
  const asked = log.role
  const isOne = count === 1 && !appendOptions.atomic
  started(`append ${first} ${count} ${JSON.stringify(appendOptions)}`, done => log.append(isOne ? records[0] : records, appendOptions, (err, seq) => {
    if (err) {
      say({ what: 'failed', first, last: first + count - 1, isAtomic: !!appendOptions.atomic, code: err.code, message: err.message })
    } else {
      const seqs = Array.isArray(seq) ? seq : [seq]
      acked.push([first, first + count - 1, seqs, log.id])
      say({ what: 'more' })
      mine.push({ number: first + count - 1, seq: seqs.at(-1), id: log.id, how: `${count} ${JSON.stringify(appendOptions)} ${asked} ${log.role}` })
    }
    done()
  }))
}

function erase () {
  if (mine.length === 0) return
  const [{ number, seq, id, how }] = mine.splice(random.below(mine.length), 1)
  if (id !== log.id) return
  say({ what: 'deleting', number })
  tellNow()
  started(`del ${number} at ${seq}`, done => log.del(seq, (err) => {
    // it was compacted twice while this process was to read the end of the log: nothing was deleted
    if (err?.code === 'flumelog:compacted') return done()
    if (err) answered('del', err, () => {}, `${number} at ${seq}, ${how}`)
    else say({ what: 'deleted', number })
    done()
  }))
}

function compact (done) {
  log.compact((err, compacted) => {
    // another process may have asked for it, or the owner is about to close
    const isFine = isFinishing || err?.code === 'flumelog:closed' || /compacted already/.test(err?.message)
    say({ what: 'compacted', id: compacted?.id })
    answered('compact', isFine ? null : err, done)
  })
}

/** The log was compacted: records have other seqs, if this process has not missed a compaction. */
function moved ({ id, previousId, map }) {
  for (const entry of mine.splice(0, Math.max(0, mine.length - MOST_MINE))) entry.id = null
  for (const entry of mine) {
    if (entry.id !== previousId) continue
    entry.id = null
    map(entry.seq).then((seq) => {
      if (seq === null) say({ what: 'wrong', why: `record ${entry.number}, at ${entry.seq} before, is in compacted log ${id} no more` })
      else Object.assign(entry, { seq, id })
    }, () => {})
  }
}

/** Seqs lead to their records. */
async function verify (done) {
  for (const { number, seq, id, how } of mine.slice(-MOST_MINE)) {
    if (id !== log.id) continue
    const found = await new Promise(resolve => log.get(seq, (err, value) => resolve(err ?? value)))
    if (id !== log.id || found.code === 'flumelog:closed' || found.code === REPLACED) continue
    if (found instanceof Error || !isIntact(found) || numberOf(found) !== number) say({ what: 'wrong', why: `record ${number} is not at ${seq} of ${id}, ${how}: ${found instanceof Error ? found.message : numberOf(found)}` })
  }
  done()
}

/** The last record of all: who has seen it, has seen everything. */
function appendSentinel () {
  const number = member * MEMBER + ++made
  started('sentinel', done => log.append(numbered(number, 20), (err, seq) => {
    if (err) {
      say({ what: 'failed', first: number, last: number, code: err.code, message: err.message })
      appendSentinel()
    } else {
      acked.push([number, number, [seq], log.id])
      say({ what: 'sentinel', number })
    }
    done()
  }))
}
