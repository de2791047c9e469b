'use strict'

// Backups of a log that is changed at random, compared with an array of what is in the log.
//
//     RUNS=1000 node test/backup/model.js

const fs = require('fs')
const path = require('path')
const fc = require('fast-check')
const tape = require('tape')
const { verify } = require('../../maintenance')
const { open } = require('../../promises')
const { testFolder } = require('../helpers/folder')
const { thorough } = require('../helpers/thorough')

const change = fc.oneof(
  { weight: 4, arbitrary: fc.record({ what: fc.constant('append'), sizes: fc.array(fc.integer({ min: 8, max: 50 }), { minLength: 1, maxLength: 30 }) }) },
  { weight: 4, arbitrary: fc.record({ what: fc.constant('del'), from: fc.double({ min: 0, max: 1, noNaN: true }), count: fc.integer({ min: 1, max: 12 }), every: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('trim'), to: fc.double({ min: 0, max: 1, noNaN: true }) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('compact') }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('reopen') }) }
)
const step = fc.oneof(
  { weight: 2, arbitrary: change },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('backup'), target: fc.constantFrom('a', 'b'), full: fc.nat(5).map(n => n === 0), meanwhile: fc.option(change), moment: fc.nat(6) }) }
)

class Model {
  constructor (folder, options) {
    Object.assign(this, { folder, options, number: 0, backups: 0 })
    /** Of the log, in their order. @type {string[]} */
    this.values = []
  }

  file (name) {
    return path.join(this.folder, name)
  }

  async open () {
    this.log = await open(this.file('log'), this.options)
  }

  async append ({ sizes }) {
    const values = sizes.map(size => `${this.number++} `.padEnd(size, 'x'))
    await this.log.append(values)
    this.values.push(...values)
  }

  async del ({ from, count, every }) {
    const all = await recordsOf(this.log)
    const first = Math.floor(from * all.length)
    const chosen = all.slice(first, first + count).filter((_, i) => i % every === 0)
    if (chosen.length === 0) return
    await this.log.del(chosen.map(({ seq }) => seq))
    const gone = new Set(chosen.map(({ value }) => value))
    this.values = this.values.filter(value => !gone.has(value))
  }

  async trim ({ to }) {
    const all = await recordsOf(this.log)
    if (all.length === 0) return
    const start = await this.log.trim({ lt: to > 0.9 ? Infinity : all[Math.floor(to * all.length)].seq })
    const gone = new Set(all.filter(({ seq }) => seq < start).map(({ value }) => value))
    this.values = this.values.filter(value => !gone.has(value))
  }

  async compact () {
    await this.log.compact({ keep: () => true })
  }

  async reopen () {
    await this.log.close()
    await this.open()
  }

  /** What happens meanwhile starts after some turns of the event loop. */
  async backup ({ target, full, meanwhile, moment }) {
    const before = [...this.values]
    const backingUp = this.backUp(target, full).then(() => null, err => err)
    for (let i = 0; i < moment; i++) await new Promise(resolve => setImmediate(resolve))
    if (meanwhile !== null && meanwhile.what !== 'reopen') await this[meanwhile.what](meanwhile)
    const err = await backingUp
    if (err !== null) throw err
    this.backups++
    const found = await this.contents(target)
    const [was, is, has] = [before, this.values, found].map(values => new Set(values))
    const expected = [...before, ...this.values.filter(value => !was.has(value))]
    if (found.some(value => !expected.includes(value))) throw new Error(`${found.find(value => !expected.includes(value))} is in ${target}`)
    const missing = before.find(value => is.has(value) && !has.has(value))
    if (missing !== undefined) throw new Error(`${missing} is missing in ${target}`)
    if (String(expected.filter(value => has.has(value))) !== String(found)) throw new Error(`the order in ${target} is another one`)
  }

  async backUp (target, full) {
    await this.log.backup(this.file(target), { full })
  }

  async contents (target) {
    const { valid, closed } = await verify(this.file(target))
    if (!valid || !closed) throw new Error(`${target} is not a valid log that was closed`)
    const others = fs.readdirSync(this.folder).filter(name => name.startsWith(`${target}.`) && !/\.(meta|offset-map)$/.test(name))
    if (others.length > 0) throw new Error(`${others} is left`)
    const log = await open(this.file(target), { readOnly: true })
    const values = (await recordsOf(log)).map(({ value }) => value)
    await log.close()
    return values
  }
}

async function recordsOf (log) {
  const records = []
  for await (const { seq, value } of log.stream()) records.push({ seq, value: String(value) })
  return records
}

tape('a backup is the log as it was when it was called, but for what is appended, deleted and trimmed meanwhile', async (t) => {
  const file = testFolder(t)
  let runs = 0
  let backups = 0
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), fc.constantFrom(64, 256, 4096), fc.boolean(), async (steps, blockSize, checksum) => {
    const folder = file(String(runs++))
    const model = new Model(folder, { blockSize, checksum })
    await model.open()
    try {
      for (const { what, ...rest } of steps) await model[what](rest)
      await model.backup({ target: 'a', full: false, meanwhile: null, moment: 0 })
      if (String(await model.contents('a')) !== String(model.values)) throw new Error('the last backup is not the log')
    } finally {
      await model.log.close()
    }
    backups += model.backups
    fs.rmSync(folder, { recursive: true })
  })
  await fc.assert(property, { numRuns: Number(process.env.RUNS ?? (thorough ? 100 : 25)), includeErrorInReport: true })
  t.pass(`${backups} backups`)
})
