'use strict'

// Bundles the package for browsers, and prints the sizes of what they load:
//
//     dist/index.mjs    `open` of a page: starts the worker and talks to it
//     dist/log.mjs      the log itself, loaded by workers
//     dist/worker.mjs   the worker that a page starts
//
// Then it makes the declarations.

const fs = require('fs')
const path = require('path')
const zlib = require('zlib')
const esbuild = require('esbuild')

const NODE = path.join(__dirname, 'lib', 'node')
const DIST = path.join(__dirname, 'dist')
/** What index.js exports, besides `open`. */
const FUNCTIONS = ['exportFiles', 'importFiles', 'removeLog', 'listLogs']
/** What the log loads for that which is refused in a browser: `backup`. */
const ABSENT = /^(os|child_process|worker_threads|\.\/backup\/backup)$/

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
  await esbuild.build({ ...OPTIONS, minify, entryPoints: [path.join(__dirname, 'lib', 'worker.mjs')], outfile: outfile('worker.mjs'), plugins: [separate] })
  await esbuild.build({ ...WITH_LOG, minify, stdin: named('lib/served.js', ['open', 'serve', ...FUNCTIONS]), outfile: outfile('log.mjs') })
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
