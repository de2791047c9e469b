'use strict'

const test = require('tape')
const { NAMES } = require('../../bench/helpers/settings')
const { summarize } = require('../../bench/helpers/results')
const { targets, neededBy, judgeAll } = require('../../bench/helpers/judge')
const { comparisonTable, withComparison } = require('../../bench/helpers/comparison')
const { reportPage } = require('../../bench/helpers/report-page')

const about = { date: '2026-01-01', machine: 'a machine', system: 'a system', size: 'full', versions: { node: '20.0.0' } }

/** @returns {Array<{ file: string, group: string, row: string }>} all rows of the full size, also those that need a browser */
function allRows () {
  return NAMES.flatMap(file => require(`../../bench/${file}`).groups('full', true).flatMap(({ name: group, rows }) => {
    return rows.map(({ name: row }) => ({ file, group, row }))
  }))
}

/** @param {number[]} rates one per round */
function linesOf (place, phase, rates) {
  return rates.map((rate, round) => ({ ...place, phase, round, records: rate, bytes: rate * 155, seconds: 1 }))
}

test('each target compares rows that the full size has', (t) => {
  const rows = new Set(allRows().map(({ file, group, row }) => `${file}: ${group}: ${row}`))
  for (const { number, what, of, over } of targets) {
    const best = over.filter(({ file, group, row }) => rows.has(`${file}: ${group}: ${row}`))
    t.ok(rows.has(`${of.file}: ${of.group}: ${of.row}`) && (over.length === 0 || best.length > 0), `${number}: ${what}`)
  }
  t.end()
})

test('no two rows of a group have the same name', (t) => {
  const names = allRows().map(({ file, group, row }) => `${file}: ${group}: ${row}`)
  t.deepEqual(names.filter((name, i) => names.indexOf(name) < i), [])
  t.end()
})

test('the check measures only the rows that its targets need', (t) => {
  const [target] = targets
  const needs = neededBy([target])
  t.ok(needs(target.of))
  t.ok(target.over.every(needs))
  t.notOk(needs({ ...target.of, row: 'another' }))
  t.end()
})

test('a ratio is the median of the ratios of the rounds, in the phase that its target is for', (t) => {
  const of = { file: 'f', group: 'g', row: 'ours' }
  const over = { file: 'f', group: 'g', row: 'theirs' }
  const target = { number: 1, what: 'ours, relative to theirs', of, over: [over], by: ({ records }) => records, format: String, cold: { least: 2 } }
  // ratios 3, 1, 2: the ratio of the medians would be 1
  const cold = [...linesOf(of, 'cold', [3, 5, 40]), ...linesOf(over, 'cold', [1, 5, 20])]
  const warm = [...linesOf(of, 'warm', [1]), ...linesOf(over, 'warm', [1])]
  const verdictOf = (bounds, lines) => judgeAll([{ ...target, ...bounds }], lines).verdicts[0]
  t.equal(verdictOf({}, [...cold, ...warm]), 'met')
  t.equal(verdictOf({ cold: { least: 2.1 } }, [...cold, ...warm]), 'MISSED')
  t.equal(verdictOf({ cold: { most: 1.9 } }, [...cold, ...warm]), 'MISSED')
  t.equal(verdictOf({ warm: { least: 2 } }, [...cold, ...warm]), 'MISSED', 'both phases have to be met')
  t.equal(verdictOf({}, warm), 'not measured')
  t.equal(verdictOf({ cold: undefined }, cold), '', 'without bounds, it is informative')
  t.match(judgeAll([target], cold).rows[0].join(' '), /2\.00 \(1\.00–3\.00\)/)
  t.end()
})

test('of several baselines, the best of each round counts', (t) => {
  const place = (row) => ({ file: 'f', group: 'g', row })
  const target = { number: 1, what: '', of: place('ours'), over: [place('a'), place('b'), place('missing')], by: ({ records }) => records, format: String, cold: { least: 1.5 } }
  const lines = [...linesOf(place('ours'), 'cold', [20, 20]), ...linesOf(place('a'), 'cold', [10, 1]), ...linesOf(place('b'), 'cold', [1, 20])]
  t.match(judgeAll([target], lines).rows[0].join(' '), /1\.50 \(1\.00–2\.00\)/)
  t.end()
})

test('the report and the table in README give the same figures, with minimum and maximum in the report', (t) => {
  const place = { file: 'append', group: '16 in flight', row: 'lmdb' }
  const figures = summarize([...linesOf(place, 'cold', [2000000, 1230000, 1000000]), ...linesOf(place, 'warm', [7000000])])
  t.match(comparisonTable([{ about, figures }]), /\| lmdb \|.* 1\.23 M \|/)
  t.match(reportPage([{ about, figures }], []), /\| lmdb \| 1,230,000\/s \(1,000,000–2,000,000\), 191 MB\/s \| 7,000,000\/s/)
  t.end()
})

test('the comparison replaces what is between its marks, and fails if there are none', (t) => {
  const page = 'before\n<!-- measured: written by npm run bench:report -->\nold\n<!-- /measured -->\nafter\n'
  const replaced = withComparison(page, 'new')
  t.match(replaced, /^before\n[^]*new[^]*\nafter\n$/)
  t.notOk(replaced.includes('old'))
  t.throws(() => withComparison('no marks', 'new'), /no place for the comparison/)
  t.end()
})
