'use strict'

// Measures the log relative to its baselines, and compares the ratios with their targets: only the rows that these need, in
// the full size. With --results FILE, it runs nothing, and judges that run.

const { settings, beginResults, readResults, checkResults, NAMES, RESULTS } = require('./helpers/settings')
const { runFiles } = require('./helpers/runner')
const { targets, neededBy, judgedTable } = require('./helpers/judge')

const program = {
  usage: 'npm run bench:check -- [options]',
  takesNames: false,
  own: {
    only: { value: '1,3', help: 'only the targets with these numbers' },
    results: { value: 'FILE', help: 'run nothing, judge the results in this file' }
  },
  check ({ only, results }) {
    const numbers = new Set(targets.map(({ number }) => number))
    const wrong = only?.split(',').find(number => !numbers.has(Number(number)))
    if (wrong !== undefined) throw new Error(`--only takes numbers from 1 to ${Math.max(...numbers)} separated by commas, not '${wrong}'`)
    if (results !== undefined) checkResults([results])
  }
}

main()

async function main () {
  const { values, rounds, folder } = settings(program)
  const numbers = values.only?.split(',').map(Number)
  const wanted = targets.filter(({ number }) => numbers === undefined || numbers.includes(number))
  if (values.results === undefined) {
    const files = NAMES.map(name => require(`./${name}`))
    await runFiles(files, { size: 'full', rounds, folder, wants: neededBy(wanted), isQuiet: true, onMeasure: beginResults(RESULTS, 'full') })
  }
  console.log(judgedTable(wanted, readResults(values.results ?? RESULTS).lines))
}
