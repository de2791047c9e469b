'use strict'

// Seeds of the fuzzer that once found a fault, each by what is true since then; and that a
// seed repeats a whole life.

const tape = require('tape')
const { live } = require('../helpers/fuzz/life')
const { processFolder } = require('../helpers/folder')

const SEEDS = [
  ['never more than syncBytes of acknowledged records are unsynced', 'disk', 25],
  ['a value that is refused was encoded once', 'full disk', 88],
  ['a stream over a storage that answers at once ends', 'answers at once', 97],
  ['an append without a callback that failed is told of by the next sync, onDrain or close', 'faults', 45],
  ['a sink with sync is called back when the log closes meanwhile', 'full disk', 7],
  ['a deletion that fails leaves nothing that a power cut turns into a torn record', 'faults', 44],
  ['an append is called back while syncs fail', 'failed syncs', 1],
  ['a sink that waits for room in a log that is closing does not spin', 'faults', 66],
  ['a block that a failed deletion left half-written is whole before more follows it', 'failed writes at once', 18],
  ['a block that was read while a deletion failed is read again', 'faults', 5075177],
  ['a deletion that was undone does not count as done', 'failed writes at once', 5075187],
  ['what a batch has written is truncated when a later part of it cannot be written', 'faults', 5409390],
  ['nothing is published after the log is closed', 'failed writes at once', 5409432],
  ['of a large record that was deleted, a trim may take some parts', 'failed writes at once', 77371033]
]
const REPEATED = [['disk', 1], ['faults', 2], ['full disk', 3], ['answers at once', 4], ['failed syncs', 5]]

const options = { folder: processFolder() }

for (const [sentence, kind, seed] of SEEDS) {
  tape(sentence, async (t) => {
    const { violation, operations } = await live(kind, seed, options)
    t.equal(violation, null, `${operations} operations: --seed ${seed} --kind '${kind}'`)
  })
}

tape('a seed repeats everything that happens in simulated time', async (t) => {
  for (const [kind, seed] of REPEATED) {
    const [first, second] = [await live(kind, seed, options), await live(kind, seed, options)]
    t.equal(first.hash, second.hash, `--seed ${seed} --kind '${kind}'`)
    t.ok(first.operations > 0)
  }
})
