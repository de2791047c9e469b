'use strict'

// Bundles the package for browsers, and prints the sizes of what they load:
//
//     dist/index.mjs        `open` of a page: starts the worker and talks to it
//     dist/worker.mjs       the worker that a page starts: opens, appends, reads
//     dist/more-HASH.mjs    what this worker needs for other calls and some options; see lib/more.js
//     dist/log.mjs          all of the log, for workers of the caller
//
// Then it makes the declarations.
//
// The modules of Node.js are replaced here, not by a `browser` condition of `exports`: the log requires them by their names, as any code for
// Node.js does, and what is published works without a bundler.

const crypto = require('crypto')
const fs = require('fs')
const path = require('path')
const zlib = require('zlib')
const esbuild = require('esbuild')

const NODE = path.join(__dirname, 'lib', 'node')
const DIST = path.join(__dirname, 'dist')
const CORE = path.dirname(require.resolve('flumelog-random-access-file/package.json'))
/** What index.js exports, besides `open`. */
const FUNCTIONS = ['exportFiles', 'importFiles', 'removeLog', 'listLogs']
/** What the log loads for locks and holes without a package. */
const ABSENT = /^(os|child_process|worker_threads|\.\/libc|\.\/libc-locks)$/
/** What a page's worker loads later, by the modules that require it: these are in the file itself only. */
const LATER = {
  [CORE]: {
    'promises.js': ['./lib/wrappers/append-from', './lib/wrappers/cursor'],
    'lib/log.js': ['./backup/backup', './cursors/named-cursors', './read/search', './space/deletion-range', './space/trim', './statistics', './write/large-deletion', './write/sink'],
    'lib/opening.js': ['./sharing/sharing', './space/open-reader', './space/retention'],
    'lib/read/get.js': ['./large-cursor'],
    'lib/read/record-cursor.js': ['./large-cursor'],
    'lib/space/compacting.js': ['./compaction'],
    'lib/storage/path-file.js': ['./watch']
  },
  [__dirname]: {
    'lib/mounts.js': ['./shared-volume'],
    'lib/server.js': ['./files']
  }
}

/** @type {esbuild.Plugin} the modules of Node.js that the core requires, and what only these make possible, are those of lib/node/ */
const forBrowsers = {
  name: 'browser',
  setup (builder) {
    builder.onResolve({ filter: /^(\w+|\.\/schedstat|\.\/address)$/ }, ({ path: name, importer }) => {
      if (importer === path.join(NODE, 'buffer.js')) return { path: require.resolve('buffer/') }
      const file = path.join(NODE, `${path.basename(name)}.js`)
      if (fs.existsSync(file)) return { path: file }
    })
    builder.onResolve({ filter: ABSENT }, ({ path: name }) => ({ path: name, namespace: 'absent' }))
    builder.onLoad({ filter: /.*/, namespace: 'absent' }, () => ({ contents: 'module.exports = {}' }))
  }
}

/** @type {esbuild.Plugin} what is loaded only where it is needed */
const separate = {
  name: 'separate',
  setup (builder) {
    builder.onResolve({ filter: /^\.\/log\.mjs$/ }, ({ path: name }) => ({ path: name, external: true }))
  }
}

/** @type {esbuild.BuildOptions} */
const OPTIONS = { bundle: true, format: 'esm', platform: 'browser', target: 'es2022', logLevel: 'warning', legalComments: 'eof', define: { __filename: '"/"' } }
/** Of what runs the log. @type {esbuild.BuildOptions} */
const WITH_LOG = { ...OPTIONS, plugins: [forBrowsers], inject: [path.join(NODE, 'inject.mjs')] }

/**
 * @param {string} outdir
 * @param {{ minify?: boolean }} [options]
 */
async function bundle (outdir, { minify = true } = {}) {
  const outfile = (/** @type {string} */ name) => path.join(outdir, name)
  await esbuild.build({ ...OPTIONS, minify, stdin: named('index.js', ['open', ...FUNCTIONS]), outfile: outfile('index.mjs'), plugins: [separate] })
  await esbuild.build({ ...WITH_LOG, minify, stdin: named('lib/served.js', ['open', ...FUNCTIONS]), outfile: outfile('log.mjs') })
  await bundleWorker(outdir, minify)
}

/**
 * In three steps: which modules the worker has, the other file, which takes these from it, and the worker, which gives them.
 * @param {string} outdir
 * @param {boolean} minify
 */
async function bundleWorker (outdir, minify) {
  const entryPoints = [path.join(__dirname, 'lib', 'worker.mjs')]
  const later = Object.entries(LATER).flatMap(([folder, requiring]) => Object.entries(requiring).flatMap(([file, names]) => names.map(name => ({ importer: path.join(folder, file), name }))))
  const files = [...new Set(later.map(({ importer, name }) => require.resolve(path.join(path.dirname(importer), name))))]
  /** @param {{ name: string, modules: string[] }} more */
  const worker = ({ name, modules }) => ({
    name: 'later',
    setup (/** @type {esbuild.PluginBuild} */ builder) {
      builder.onResolve({ filter: /^\./ }, ({ path: name, importer }) => {
        if (importer === path.join(__dirname, 'lib', 'more.js') && name === './common') return { path: name, namespace: 'common' }
        if (later.some(one => one.importer === importer && one.name === name)) return { path: require.resolve(path.join(path.dirname(importer), name)), namespace: 'later' }
      })
      builder.onLoad({ filter: /.*/, namespace: 'later' }, ({ path: file }) => ({ contents: callsOf(file, files.indexOf(file)), resolveDir: __dirname }))
      builder.onLoad({ filter: /.*/, namespace: 'common' }, () => ({ contents: `export const url = () => String(new URL('./${name}', import.meta.url))\nexport const modules = ${arrayOf(modules)}`, resolveDir: __dirname }))
    }
  })
  const first = await esbuild.build({ ...WITH_LOG, minify, metafile: true, write: false, entryPoints, plugins: [worker({ name: '', modules: [] }), ...WITH_LOG.plugins] })
  const has = new Set(Object.keys(first.metafile.inputs).map(file => path.resolve(file)))
  /** What the other file takes from the worker. @type {string[]} */
  const modules = []
  /** @type {esbuild.Plugin} */
  const common = {
    name: 'common',
    setup (builder) {
      builder.onResolve({ filter: /./ }, async ({ path: name, pluginData, ...options }) => {
        if (pluginData === common || options.importer === '') return
        const found = await builder.resolve(name, { ...options, pluginData: common })
        if (found.namespace !== 'file' || !has.has(found.path)) return
        if (!modules.includes(found.path)) modules.push(found.path)
        return { path: found.path, namespace: 'common' }
      })
      builder.onLoad({ filter: /.*/, namespace: 'common' }, ({ path: file }) => ({ contents: `module.exports = flumelogModules[${modules.indexOf(file)}]()` }))
    }
  }
  const more = await esbuild.build({ ...WITH_LOG, minify, write: false, stdin: { contents: `export const modules = ${arrayOf(files)}\n`, resolveDir: __dirname, sourcefile: 'more.mjs' }, plugins: [common, ...WITH_LOG.plugins] })
  // of both, since the numbers of one are those of the other
  const name = `more-${crypto.createHash('sha256').update(more.outputFiles[0].contents).update(first.outputFiles[0].contents).digest('hex').slice(0, 8)}.mjs`
  fs.writeFileSync(path.join(outdir, name), more.outputFiles[0].contents)
  const last = await esbuild.build({ ...WITH_LOG, minify, write: false, entryPoints, plugins: [worker({ name, modules }), ...WITH_LOG.plugins] })
  // minifying removes comments
  fs.writeFileSync(path.join(outdir, 'worker.mjs'), last.outputFiles[0].text.replace(/\bimport\((?=[\w$]+\(\)\))/, 'import(/* webpackIgnore: true *//* @vite-ignore */'))
}

/** @param {string[]} files of CommonJS modules */
function arrayOf (files) {
  return `[${files.map(file => `() => require(${JSON.stringify(file)})`).join(', ')}]`
}

/**
 * @param {string} file of a module that exports functions and classes
 * @param {number} number
 * @returns {string} a module that exports functions that call these
 */
function callsOf (file, number) {
  const names = String(/^module\.exports = \{ (.*) \}$/m.exec(fs.readFileSync(file, 'utf8'))?.[1]).split(', ')
  return `const { moduleOf } = require('./lib/more')\nconst call = name => function (...args) { const it = moduleOf(${number})[name]; return new.target ? new it(...args) : it(...args) }\n` +
    names.map(name => `exports.${name} = call('${name}')\n`).join('')
}

/**
 * A CommonJS module as one whose exports have names.
 * @param {string} file
 * @param {string[]} names
 */
function named (file, names) {
  return { contents: `import all from './${file}'\nexport const { ${names.join(', ')} } = all\n`, resolveDir: __dirname, sourcefile: 'entry.mjs' }
}

module.exports = { bundle, WITH_LOG }

if (require.main === module) {
  fs.rmSync(DIST, { recursive: true, force: true })
  bundle(DIST).then(() => {
    for (const file of fs.readdirSync(DIST)) {
      const bytes = fs.readFileSync(path.join(DIST, file))
      // npm pack has its own output
      console.error(`${file}: ${(zlib.gzipSync(bytes, { level: 9 }).length / 1000).toFixed(1)} kB gzipped, ${(bytes.length / 1000).toFixed(1)} kB`)
    }
    process.argv.length = 2
    require('../../build')
  }, () => { process.exitCode = 1 })
}
