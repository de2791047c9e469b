'use strict'

// Judges targets by the measurements of a run. A ratio is the median of the ratios of the rounds; the rows of a group alternate,
// so within a round they are measured at about the same time.

const { median } = require('./drive')
const { spread, formatCount, formatRange } = require('./results')
const { targets } = require('./targets')
const { table } = require('./markdown')

const PHASES = ['cold', 'warm']

/**
 * @typedef {import('./targets').Target} Target
 * @typedef {import('./results').Line} Line
 * @typedef {'met' | 'MISSED' | 'not measured' | ''} Verdict empty: informative
 */

/** @param {{ file: string, group: string, row: string }} place */
function keyOf ({ file, group, row }) {
  return JSON.stringify([file, group, row])
}

/**
 * @param {Target[]} targets
 * @returns {(place: { file: string, group: string, row: string }) => boolean} whether one of them needs a row
 */
function neededBy (targets) {
  const needed = new Set(targets.flatMap(({ of, over }) => [of, ...over]).map(keyOf))
  return (place) => needed.has(keyOf(place))
}

/**
 * @param {Target[]} targets
 * @param {Line[]} lines of a run
 * @returns {{ rows: Array<Array<string | number>>, verdicts: Verdict[] }} the rows of a table, and the last cell of each
 */
function judgeAll (targets, lines) {
  const byRow = new Map()
  for (const line of lines) {
    const key = keyOf(line)
    if (!byRow.has(key)) byRow.set(key, [])
    byRow.get(key).push(line)
  }
  const linesOf = (place) => byRow.get(keyOf(place)) ?? []
  const judged = targets.map(target => judge(target, linesOf))
  return { rows: judged.map(({ cells }) => cells), verdicts: judged.map(({ verdict }) => verdict) }
}

/**
 * @param {Target} target
 * @param {(place: object) => Line[]} linesOf
 */
function judge (target, linesOf) {
  const compared = PHASES.map(phase => compare(target, phase, linesOf))
  const verdicts = PHASES.map((phase, i) => verdictOf(target[phase], compared[i]))
  const verdict = ['not measured', 'MISSED', 'met'].find(verdict => verdicts.includes(verdict)) ?? ''
  const isBounded = (i) => target[PHASES[i]] !== undefined
  const wanted = PHASES.filter(phase => target[phase] !== undefined).map(phase => `${phase}: ${describeBounds(target[phase])}`).join('; ')
  const cells = compared.map((ratio, i) => ratio.error === undefined ? describeRatio(target, ratio) : isBounded(i) ? ratio.error : '')
  return { verdict, cells: [target.number, target.what, wanted, ...cells, verdict] }
}

/**
 * @param {Target} target
 * @param {string} phase
 * @param {(place: object) => Line[]} linesOf
 * @returns {{ ratio?: import('./results').Spread, of?: number, over?: number, name?: string, error?: string }}
 */
function compare ({ of, over, by }, phase, linesOf) {
  const linesAt = (place) => linesOf(place).filter(line => line.phase === phase && line.part === place.part && Number.isFinite(by(line)))
  const ours = linesAt(of)
  const baselines = over.map(linesAt).filter(lines => lines.length > 0)
  if (ours.length === 0 || (over.length > 0 && baselines.length === 0)) {
    return { error: [of, ...over].flatMap(linesOf).find(({ error }) => error !== undefined)?.error ?? '' }
  }
  const rounds = Math.min(...[ours, ...baselines].map(({ length }) => length))
  const ratios = ours.slice(0, rounds).map((line, round) => {
    return baselines.length === 0 ? by(line) : by(line) / Math.max(...baselines.map(lines => by(lines[round])))
  })
  const typical = (lines) => median(lines.map(by))
  const best = [...baselines].sort((a, b) => typical(b) - typical(a))[0]
  return { ratio: spread(ratios), of: typical(ours), over: best && typical(best), name: over.length > 1 ? best[0].row : undefined }
}

function verdictOf (bounds, { ratio }) {
  if (bounds === undefined) return ''
  if (ratio === undefined) return 'not measured'
  const { least = -Infinity, most = Infinity } = bounds
  return ratio.median < least || ratio.median > most ? 'MISSED' : 'met'
}

function describeBounds ({ least, most }) {
  return [least === undefined ? '' : `at least ${least}`, most === undefined ? '' : `at most ${most}`].filter(Boolean).join(', ')
}

function describeRatio ({ format }, { ratio, of, over, name }) {
  const short = (value) => value < 1000 ? value.toPrecision(3) : formatCount(value)
  if (over === undefined) return [format(ratio.median), formatRange(ratio, format)].filter(Boolean).join(', ')
  const range = formatRange(ratio, short)
  return `${short(ratio.median)}${range && ` (${range})`}: ${format(of)} over ${format(over)}${name === undefined ? '' : ` (${name})`}`
}

/**
 * @param {Target[]} targets
 * @param {Line[]} lines of a run
 * @returns {string} a table
 */
function judgedTable (targets, lines) {
  return table(['', 'ratio', 'target', 'cold', 'warm', ''], judgeAll(targets, lines).rows, Array(6).fill('---'))
}

module.exports = { targets, neededBy, judgeAll, judgedTable }
