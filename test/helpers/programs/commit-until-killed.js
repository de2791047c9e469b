'use strict'

// Follows a log with a cursor, and commits each record, as fast as it can, until it is killed; tells which seqs it is about to
// commit, and which are committed. Unless somebody else writes the log, it appends, too.

const FlumeLog = require('../../..')
const { argument, tell, listen } = require('../processes')
const { randomFrom } = require('../random')

const { file, options, seed, appends } = argument()
const random = randomFrom(seed)
listen()

const log = FlumeLog(file, options)
const cursor = log.cursor('consumer')
cursor.onReady((err, seq) => {
  if (err) return tell({ what: 'failed', message: err.message })
  tell({ what: 'opened', seq })
  if (appends) append()
  const source = cursor.stream({ live: true })
  source(null, function next (end, record) {
    if (end) return tell({ what: 'failed', message: end.message ?? 'the stream ended' })
    tell({ what: 'committing', seq: record.seq })
    const committed = (err) => tell(err ? { what: 'failed', message: err.message } : { what: 'committed', seq: record.seq })
    cursor.commit(record.seq, { sync: random() < 0.1 }, committed)
    if (random() < 0.8) source(null, next)
    else setImmediate(() => source(null, next))
  })
})

function append () {
  log.append(Array.from({ length: 1 + random.below(20) }, () => 'a record of ' + 'x'.repeat(random.below(60))), () => setTimeout(append, random.below(3)))
}
