'use strict'

// The suite every flumelog has to pass, as published, in a worker of a real browser.

const path = require('path')
const esbuild = require('esbuild')
const test = require('tape')
const { inBrowser, inWorker } = require('./helpers/browser')
const { WITH_LOG } = require('../build')

const SUITE = path.join(__dirname, 'helpers', 'suite.js')

/** @type {esbuild.Plugin} */
const withoutTape = {
  name: 'tape',
  setup (builder) {
    builder.onResolve({ filter: /^tape$/ }, () => ({ path: SUITE }))
    builder.onResolve({ filter: /^assert$/ }, () => ({ path: 'assert', namespace: 'absent' }))
  }
}

inBrowser(({ open, dist }) => {
  test('test-flumelog passes in a browser', async (t) => {
    await esbuild.build({ ...WITH_LOG, plugins: [withoutTape, ...WITH_LOG.plugins], entryPoints: [SUITE], outfile: path.join(dist, 'suite.mjs') })
    const assertions = await inWorker(await open(), async () => {
      const assertions = await (await import('/suite.mjs')).default.runSuite() // eslint-disable-line import/no-absolute-path
      // WebDriver BiDi sends an object once
      return assertions.map(({ name, actual, expected }) => ({ name, actual: structuredClone(actual), expected: structuredClone(expected) }))
    })
    for (const { name, actual, expected } of assertions) t.deepEqual(actual, expected, name)
    t.ok(assertions.length > 10, `${assertions.length} assertions`)
  })
})
