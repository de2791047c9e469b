'use strict'

// What a bundler makes of the package runs without node_modules: with its default options, and as an ES module with the
// banner that docs/runtimes.md shows.

const fs = require('fs')
const path = require('path')
const { spawnSync } = require('child_process')
const esbuild = require('esbuild')
const tape = require('tape')
const { testFolder } = require('../helpers/folder')
const { isNode, runtime } = require('../helpers/runtime')
const { canLock } = require('../../lib/storage/lock')

const ROOT = path.join(__dirname, '..', '..')
/** Packages with native parts, and what these need. */
const NATIVE = ['fs-native-extensions', 'require-addon', 'which-runtime', 'bare-addon-resolve', 'bare-module-resolve', 'bare-semver', '@node-rs']

const BANNER = fs.readFileSync(path.join(ROOT, 'docs/runtimes.md'), 'utf8').match(/--banner:js="(.*)"$/m)[1]
/** @type {Record<string, import('esbuild').BuildOptions>} by the name of the bundle */
const FORMATS = { 'program.cjs': { format: 'cjs' }, 'program.mjs': { format: 'esm', banner: { js: BANNER } } }

/** What is printed last says whether files are locked, and which native parts are loaded. */
const PROGRAMS = {
  'index.js': `
    const log = require('./index.js')('data/log')
    log.append([Buffer.from('one'), Buffer.from('two')], (err, seq) => {
      if (err) throw err
      log.get(seq, (err, value) => {
        console.log(err, String(value))
        log.close(() => second())
      })
    })`,
  'promises.js': `
    const { open } = require('./promises.js')
    async function main () {
      const log = await open('data/log')
      await log.append(['one', 'two'])
      for await (const { value } of log.stream({ gt: 0 })) console.log(null, String(value))
      await log.close()
      second()
    }
    main()`
}
const SECOND = `
  function second () {
    const FlumeLog = require('./index.js')
    const log = FlumeLog('data/log', { lock: 'required' })
    const loaded = () => Object.keys(require('module')._cache).filter(name => name.endsWith('.node')).map(name => require('path').basename(name).replace(/\\..*/, ''))
    log.onReady((err) => {
      console.log(err ? err.code : 'locked', loaded().sort().join())
      log.close(() => {})
    })
  }`

for (const [entry, program] of Object.entries(PROGRAMS)) {
  for (const [bundle, options] of Object.entries(FORMATS)) {
    tape(`a bundle of ${entry} as ${options.format} appends and reads without node_modules, and uses native parts that are beside it`, (t) => {
      const folder = testFolder(t)
      fs.mkdirSync(folder('empty'))
      const { warnings } = esbuild.buildSync({
        stdin: { contents: program + SECOND, resolveDir: ROOT }, bundle: true, platform: 'node', outfile: folder(`empty/${bundle}`), logLevel: 'silent', ...options
      })
      t.deepEqual(warnings, [], 'the bundler has nothing to say')
      const alone = run(folder('empty'), bundle)
      t.equal(alone.stdout, `null two\n${isNode ? 'flumelog:no-lock' : 'locked'} \n`, alone.stderr || 'it works')
      t.equal(/FLUMELOG_NO_LOCK/.test(alone.stderr), isNode, 'and warns where files cannot be locked')

      if (!isNode || !canLock) return t.end()
      fs.mkdirSync(folder('beside/node_modules'), { recursive: true })
      fs.copyFileSync(folder(`empty/${bundle}`), folder(`beside/${bundle}`))
      for (const name of NATIVE) fs.cpSync(path.join(ROOT, 'node_modules', name), folder(`beside/node_modules/${name}`), { recursive: true, filter: isNeeded })
      const beside = run(folder('beside'), bundle)
      t.match(beside.stdout, /^null two\nlocked crc32,fs-native-extensions\n$/)
      t.equal(beside.stderr, '', 'without a warning')
      t.end()
    })
  }
}

/** Of the builds for all platforms, only this one's is copied. */
function isNeeded (name) {
  return path.basename(path.dirname(name)) !== 'prebuilds' || path.basename(name) === `${process.platform}-${process.arch}`
}

function run (folder, bundle) {
  // Bun would get what is missing from the registry
  const flags = runtime === 'bun' ? ['--no-install'] : []
  return spawnSync(process.execPath, [...flags, bundle], { cwd: folder, encoding: 'utf8' })
}
