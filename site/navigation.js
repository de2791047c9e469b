// The bar above and the list beside each page. Titles are the headings of the pages.

import { pagesIn, read } from './pages.js'

const GUARANTEES = ['docs/reliability.md', 'docs/processes.md', 'docs/testing.md', 'docs/speed.md', 'docs/comparison.md']
const INTERNALS = ['docs/architecture.md', 'format.md', 'docs/protocol.md', 'packages/jetstream/design.md']
/** In the order in which they are read; new ones come last. */
const guides = [...new Set([...['event-store', 'job-queue', 'write-ahead-log', 'retention', 'backups', 'moving', 'operating'].map(name => `docs/guides/${name}.md`), ...pagesIn('docs/guides')])]
/** New pages in docs/ are shown here until they are listed elsewhere. */
const reference = [...new Set(['docs/api.md', 'docs/command-line.md', ...pagesIn('docs')])].filter(page => ![...GUARANTEES, ...INTERNALS, ...guides].includes(page))
const packages = pagesIn('packages').filter(page => page.endsWith('README.md'))

/** @type {Array<[string, string[], boolean?]>} text, pages, whether it starts collapsed */
const GROUPS = [
  ['Guides', guides],
  ['Reference', reference],
  ['Guarantees, speed, comparisons', GUARANTEES],
  ['Packages', packages],
  ['Internals', INTERNALS],
  ['Benchmarks', pagesIn('bench'), true],
  ['Project', ['CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md']]
]

export const sidebar = [
  { text: 'Introduction', link: '/' },
  ...GROUPS.filter(([, pages]) => pages.length > 0).map(([text, pages, collapsed = false]) => ({ text, collapsed, items: pages.map(itemOf) }))
]

export const nav = [
  ...guides.length > 0 ? [{ text: 'Guides', items: guides.map(itemOf) }] : [],
  { text: 'Reference', link: linkOf('docs/api.md') },
  { text: 'Command line', link: linkOf('docs/command-line.md') },
  { text: 'Packages', items: packages.map(itemOf) },
  { text: 'Changes', link: linkOf('CHANGELOG.md') }
]

/** @param {string} page */
function itemOf (page) {
  return { text: /^# (.*)$/m.exec(read(page))[1].replaceAll('`', ''), link: linkOf(page) }
}

/** @param {string} page */
function linkOf (page) {
  return `/${page.replace(/README\.md$/, '').replace(/\.md$/, '')}`
}
