'use strict'

// What a mirror deletes if the log is compacted while it looks for deletions. No server is needed.

const test = require('tape')
const { MirrorDeletions } = require('../../lib/jetstream/mirror-deletions')

/** A log of three records, and a stream with these; it fails if anything is removed. */
function mirrored (t, { onrefresh = () => {}, ontail = () => {} }) {
  const source = {
    id: 'before',
    changes: '',
    log: { file: {} },
    refresh: async () => onrefresh(source),
    // the records of a compacted log are behind all that were there before
    survey: async () => source.id === 'before' ? { live: 3, runs: [] } : { live: 0, runs: [[-1, 1000]] }
  }
  const target = {
    sender: { last: 3 },
    tail: async () => {
      ontail(source)
      return { sequence: 3, messages: 3 }
    },
    first: async () => null,
    purge: async () => t.fail('it purges messages'),
    delete: async () => t.fail('it deletes messages')
  }
  return new MirrorDeletions(/** @type {any} */ (source), /** @type {any} */ (target), () => {})
}

test('a log that was not compacted has nothing to be deleted', async (t) => {
  t.equal(await mirrored(t, {}).carryOver(20, 'before'), 'done')
})

test('a log that is found compacted when it is looked at is looked at again, with the position that it has then', async (t) => {
  t.equal(await mirrored(t, { onrefresh: (source) => { source.id = 'after' } }).carryOver(20, 'before'), 'again')
})

test('so is one that is compacted while the stream is asked', async (t) => {
  t.equal(await mirrored(t, { ontail: (source) => { source.id = 'after' } }).carryOver(20, 'before'), 'again')
})
