'use strict'

// Which blocks a sequential reader requests ahead: decisions only, no I/O.

const test = require('tape')
const fc = require('fast-check')
const SHARE = 1 / 4
const { ReadaheadWindow, BUFFERS_PER_READ, MAX_READS } = require('../../lib/read/readahead-window')

const nothingCached = () => false

/** What is requested as a reader goes over these blocks. */
function requestsOf (window, numbers, last, isCached = nothingCached) {
  return numbers.map(number => window.advance(number, last, isCached).map(({ low, high }) => `${low}-${high}`).join(' '))
}

test('a forward reader requests one block, then ever more, in reads that end at multiples of their size', (t) => {
  const window = new ReadaheadWindow(1, 1, SHARE)
  window.restart(3)
  t.deepEqual(requestsOf(window, [3, 4, 5, 6, 7], 100), ['3-3', '4-7', '8-15', '', '16-23'])
  t.end()
})

test('a backward reader does the same in the other direction', (t) => {
  const window = new ReadaheadWindow(-1, 1, SHARE)
  window.restart(100)
  t.deepEqual(requestsOf(window, [100, 99, 98, 97, 96], 0), ['100-100', '96-99', '88-95', '', '80-87'])
  t.end()
})

test('nothing is requested past the last block of use', (t) => {
  const forward = new ReadaheadWindow(1, 1, SHARE)
  t.deepEqual(requestsOf(forward, [0, 1, 2, 3], 2), ['0-0', '1-2', '', ''])
  const backward = new ReadaheadWindow(-1, 1, SHARE)
  backward.restart(5)
  t.deepEqual(requestsOf(backward, [5, 4, 3], 3), ['5-5', '3-4', ''])
  t.end()
})

test('cached blocks at either edge of a read are not requested, and a read of cached blocks only is left out', (t) => {
  const window = new ReadaheadWindow(1, 1, SHARE)
  const isCached = (number) => [1, 2, 5, 7].includes(number) || number >= 8
  t.deepEqual(requestsOf(window, [0, 1, 2], 100, isCached), ['0-0', '3-6', ''])
  t.end()
})

test('only the first block may fill the cache; the others leave most of it to gets, and none goes there if the reader says so', (t) => {
  const shares = (share) => {
    const window = new ReadaheadWindow(1, 1, share)
    return [0, 1].flatMap(number => window.advance(number, 100, nothingCached).map(({ cacheShare }) => cacheShare))
  }
  t.deepEqual(shares(SHARE), [1, SHARE])
  t.deepEqual(shares(0), [0, 0])
  t.end()
})

test('after a restart at another block, that is what is requested', (t) => {
  const window = new ReadaheadWindow(1, 1, SHARE)
  requestsOf(window, [0, 1, 2], 1000)
  window.restart(500)
  const [{ low }] = window.advance(500, 1000, nothingCached)
  t.equal(low, 500)
  t.end()
})

test('every block is requested once, in order, and no more than the window\'s size ahead', (t) => {
  const settings = fc.record({
    step: fc.constantFrom(1, -1),
    blocksPerBuffer: fc.integer({ min: 1, max: 5 }),
    first: fc.nat(200),
    count: fc.integer({ min: 1, max: 200 }),
    cached: fc.uniqueArray(fc.nat(400), { maxLength: 50 })
  })
  fc.assert(fc.property(settings, ({ step, blocksPerBuffer, first, count, cached }) => {
    const start = step === 1 ? first : first + count - 1
    const last = step === 1 ? first + count - 1 : first
    const window = new ReadaheadWindow(step, blocksPerBuffer, SHARE)
    const size = MAX_READS * BUFFERS_PER_READ * blocksPerBuffer
    window.restart(start)
    const requested = new Set()
    for (let number = start; (last - number) * step >= 0; number += step) {
      for (const { low, high } of window.advance(number, last, number => cached.includes(number))) {
        for (let block = low; block <= high; block++) {
          if (requested.has(block) || block < first || block >= first + count) return false
          if ((block - number) * step >= size + BUFFERS_PER_READ * blocksPerBuffer) return false
          requested.add(block)
        }
      }
      if (!requested.has(number) && !cached.includes(number)) return false
    }
    return true
  }))
  t.pass()
  t.end()
})
