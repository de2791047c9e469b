'use strict'

// Strings, and what codecs make of them, are stored as UTF-8.

const tape = require('tape')
const fc = require('fast-check')
const FlumeLog = require('../..')
const { newFile } = require('../helpers/folder')
const { promises } = require('../helpers/promises')
const { collect } = require('../helpers/reading')
const { thorough } = require('../helpers/thorough')

const RUNS = Number(process.env.RUNS ?? (thorough ? 200 : 80))
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)

/** Any UTF-16 code units: lone surrogates become U+FFFD, as everywhere in Node.js. */
const text = fc.array(fc.oneof(fc.integer({ min: 0, max: 0x7f }), fc.integer({ min: 0, max: 0xffff })), { maxLength: 40 }).map(units => String.fromCharCode(...units))

tape(`a string is stored as the bytes of its UTF-8, or refused as they are, in ${RUNS} random runs`, async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  const world = fc.record({ blockSize: fc.constantFrom(64, 150, 65536), checksum: fc.boolean() })
  await fc.assert(fc.asyncProperty(world, fc.array(text, { maxLength: 30 }), async (options, texts) => {
    const [found, expected] = await Promise.all([value => value, value => Buffer.from(value)].map(async (asAppended) => {
      const log = promises(FlumeLog(newFile(), options))
      await log.onReady()
      const results = await Promise.all(texts.map(text => log.append(asAppended(text)).catch(({ code }) => code)))
      const stored = await collect(log.log)
      const { appended } = log.log.stats()
      await log.close()
      return JSON.stringify([results, stored.map(({ seq, value }) => [seq, value.toString('hex')]), appended])
    }))
    if (found !== expected) throw new Error(`${found}\ninstead of ${expected}`)
  }), { numRuns: RUNS, seed: SEED })
  t.pass('no difference was found')
})
