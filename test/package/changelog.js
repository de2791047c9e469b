'use strict'

// CHANGELOG.md has the layout of Keep a Changelog 1.1.

const fs = require('fs')
const path = require('path')
const tape = require('tape')
const { version } = require('../../package.json')

const TYPES = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security']
const changelog = fs.readFileSync(path.join(__dirname, '..', '..', 'CHANGELOG.md'), 'utf8')

tape('CHANGELOG lists versions, newest first, with a date each, and their changes by type', (t) => {
  const [title, ...versions] = changelog.split(/^## /m)
  t.match(title, /^# Changelog\n/)
  const headings = versions.map(text => text.split('\n')[0])
  const [first, ...released] = headings[0] === '[Unreleased]' ? headings : ['[Unreleased]', ...headings]
  t.equal(first, '[Unreleased]', 'changes that are not released come first')
  for (const heading of released) t.match(heading, /^\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d$/)
  t.ok(released.length === 0 || released[0].startsWith(`[${version}]`), 'the newest release is the version of the package')
  for (const text of versions) {
    const types = [...text.matchAll(/^### (.*)$/gm)].map(([, type]) => type)
    t.deepEqual(types, TYPES.filter(type => types.includes(type)), 'each type once, in the usual order')
    const others = text.split(/^### .*$/m).slice(1).flatMap(section => section.split('\n')).filter(line => !/^(- \S.*| {2}\S.*|)$/.test(line))
    t.deepEqual(others, [], 'each change is an item')
  }
  t.end()
})
