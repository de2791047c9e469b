'use strict'

// The page with the targets and whether they are met, check.md.

const { targets, judgeAll, judgedTable } = require('./judge')
const { place, nodeOf, versions } = require('./markdown')

/** @param {Array<import('./settings').Results>} runs */
function checkPage (runs) {
  return `# Targets and results

Written by \`npm run bench:report\`, from the same run as [report.md](report.md); \`npm run bench:check\` measures these alone. [What limits them](../docs/speed.md#targets-and-limits).

Each ratio is the median of the ratios of the rounds, with minimum and maximum in parentheses, then the two figures, medians over the rounds.
*cold*: the first pass in a fresh process; *warm*: later, in the same process. Records have 155 bytes; sequential reads cover 1,000,000 of them, in
the page cache, and open the log again for each pass. Where several processes write, all are new. Ratios without a target are informative.
Peak RSS is \`VmHWM\`; its growth is measured from the RSS before the log is opened.

${runs.map(({ about, lines }) => `## ${nodeOf(about)}

${place(about)}, ${about.size} size. ${versions(about)}.

${summary(lines)}

${judgedTable(targets, lines)}`).join('\n\n')}
`
}

/** @param {import('./results').Line[]} lines */
function summary (lines) {
  const { verdicts } = judgeAll(targets, lines)
  const count = (verdict) => verdicts.filter(one => one === verdict).length
  return `${count('met')} targets are met, ${count('MISSED')} are missed, ${count('not measured')} are not measured.`
}

module.exports = { checkPage }
