'use strict'

// A process that shares a log: appends, deletes, trims, reads and fsyncs all the time, follows the log, and
// tells what became of each call, until it is told to finish, or killed. If it is told to, it
// compacts the log. With `isReader`, it only follows and reads. If the file is not under its name any more, it ends.

const FlumeLog = require('../../..')
const layout = require('../../../lib/format/layout')
const { argument, tell, listen } = require('../processes')
const { numbered, sizeOf, isIntact, numberOf } = require('../numbered')
const { randomFrom } = require('../random')
const { MEMBER } = require('../chaos/numbers')
const { Following } = require('../chaos/following')
const { Reads, GONE } = require('../chaos/reads')
const { Session } = require('../../../lib/sharing/session')
const { Removals } = require('../chaos/removals')

/** Milliseconds between two looks at what is in progress, and looks after which it hangs; while this process is stopped, nothing counts. */
const LOOK = 100
const LOOKS = 300
const MOST = 60
/** Records of which it knows the seqs after a compaction. */
const MOST_MINE = 300
/** The folder was renamed: whoever notices has to open the log again, which another process does here. */
const REPLACED = 'flumelog:replaced'
/** Calls that read at first, or only. */
const READS = /^(read|range|blocks|trim|reclaim|verify)/
const LONG = /^(compact|reclaim|range|blocks|trim)/
const RETRIED = ['flumelog:unreachable', 'flumelog:locked', 'ENOSPC']

/** Why the owner has sent clients away: `stats` counts them. @type {string[]} */
const refusals = []
const { refuse } = Session.prototype
Session.prototype.refuse = function (err) {
  refusals.push(err.stack)
  refuse.call(this, err)
}

const { file, options, member, isReader, does, seed } = argument()
const random = randomFrom(seed)
let log
let following
let reads
let removals
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
      answeredReads(() => {
        say({ what: 'closed', code: err?.code, message: err?.message, pending: unanswered() })
        tellNow()
        process.exit()
      })
    }))
  }
  if (sentinel) appendSentinel()
  if (awaits !== undefined) {
    awaited = awaits
    lookForAwaited()
  }
  if (look) say({ what: 'looked', role: log.role, stats: log.stats(), since: log.since.value, pending: [...pending.values()], seenUpTo: following?.lastSeq, hasSeen: following?.has(awaited) })
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
    if (!isReader) {
      log.onCompact(moved)
      isOpen = true
    }
    work()
  })
}

// as on a busy machine
if (does.blocks > 0) blockOften()

function blockOften () {
  const asleep = new Int32Array(new SharedArrayBuffer(4))
  setTimeout(() => {
    Atomics.wait(asleep, 0, 0, 10 + random.below(does.blocks))
    blockOften()
  }, random.below(700)).unref()
}

setInterval(() => {
  if (log.role === role) return
  role = log.role
  say({ what: 'role', role })
  tellNow()
}, 1).unref()

setInterval(() => {
  const { refused } = log.stats()
  if (refused > 0) say({ what: 'wrong', why: `the owner has refused ${refused} clients, though all keep to the protocol: ${refusals}` })
  for (const call of pending.values()) {
    // while much is appended and deleted, what goes through all of the log takes its time, and each new owner begins again; a read waits
    // for a reader that a trim has overtaken to catch up
    const isLong = LONG.test(call.what) || (isReader && READS.test(call.what))
    if (++call.looks !== (isLong ? 10 * LOOKS : LOOKS)) continue
    say({ what: 'hangs', call, role: log.role, stats: log.stats(), pending: pending.size })
  }
}, LOOK)

function say (message) {
  if (message.code === REPLACED && !isFinishing) {
    isFinishing = true
    log.close(() => answeredReads(() => {
      say({ what: 'replaced', pending: unanswered() })
      tellNow()
      process.exit()
    }))
  }
  if (told.push(message) === 1) setImmediate(tellNow)
}

function unanswered () {
  return [...pending.values()].map(({ what }) => what).filter(what => !['open', 'close'].includes(what))
}

/** Those that were in progress when the log was closed end soon after that. */
function answeredReads (cb, left = 3 * LOOKS) {
  const reading = unanswered().some(what => READS.test(what))
  if (reading && left > 0) setTimeout(answeredReads, 10, cb, left - 1)
  else cb()
}

function tellNow () {
  if (acked.length > 0) tell({ what: 'acked', acked })
  acked = []
  for (const message of told.splice(0)) tell(message)
}

// Following

function follow () {
  following = new Following(log, {
    onwrong: why => say({ what: 'wrong', why }),
    onrecord: (number) => { if (number === awaited) lookForAwaited() },
    onend: (err) => {
      if (!isFinishing || (err && err.code !== 'flumelog:closed')) say({ what: 'ended', code: err?.code, message: err?.message })
    }
  })
  reads = new Reads(log, following, random, {
    onwrong: why => say({ what: 'wrong', why }),
    ongone: (number, how) => say({ what: 'gone', number, how })
  })
  removals = new Removals(log, random, (message) => {
    say(message)
    tellNow()
  })
  following.start(random() < 0.5)
}

function lookForAwaited () {
  if (following?.has(awaited)) say({ what: 'seen', ranges: following.toJSON() })
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
  if (isFinishing || (isReader && !does.reads)) return
  for (let count = 1 + random.below(12); count > 0 && pending.size < MOST; count--) act()
  setTimeout(work, random() < 0.3 ? 0 : random.below(25))
}

const mine = []

function act () {
  if (does.reads && random() < 0.25) {
    const { what, read } = reads.choose()
    return started(what, read)
  }
  if (isReader) return
  if (does.removes && random() < does.removing) return remove()
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

/** Many records at once, soon after the last of them was appended, or later. */
function remove () {
  const { id } = log
  const own = mine.slice(-MOST_MINE).filter(entry => entry.id === id)
  if (own.length === 0) return
  const what = random.pick(does.removes)
  const { seq } = random() < 0.6 ? own.at(-1) : random.pick(own)
  started(what, (done) => {
    // closing stops reclaiming
    const isOver = err => answered(what, what === 'reclaim' && isFinishing && err?.code === 'flumelog:closed' ? null : err, done)
    if (what === 'range') removals.range(seq, random.pick(own.slice(-10)).seq, isOver)
    else if (what === 'blocks') removals.blocks(seq, isOver)
    else if (what === 'trim') removals.before(random.pick(own), isOver)
    else log.reclaim(isOver)
  })
}

function append (count, appendOptions) {
  const largest = layout.maxRecordSize(log.blockSize, options.checksum ?? true)
  const most = options.large && !appendOptions.atomic && random() < 0.05 ? Math.min(5 * log.blockSize, 150000) : largest
  const first = member * MEMBER + made + 1
  made += count
  const sizes = Array.from({ length: count }, (_, i) => most > largest ? random.below(most) : sizeOf(first + i, Math.min(most, appendOptions.atomic ? most / count - 4 : 3000)))
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
    if (GONE.includes(err?.code)) {
      say({ what: 'gone', number, how: 'del' })
      done()
    } else if (err) answered('del', err, () => {}, `${number} at ${seq}, ${how}`)
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
      if (seq === null) say({ what: 'gone', number: entry.number, how: `at ${entry.seq} before, in compacted log ${id}` })
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
    if (GONE.includes(found.code)) {
      say({ what: 'gone', number, how: 'verify' })
      continue
    }
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
