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
/** Of which each of two files has what it needs. */
const ERRORS = path.join(CORE, 'lib', 'errors.js')
/** What locks files, and makes holes in them, without a package. */
const ABSENT = /^\.\/libc(-locks)?$/
/** What a page's worker loads later, by the modules that require it: these are in the file itself only. */
const LATER = {
  [CORE]: {
    'promises.js': ['./lib/wrappers/append-from', './lib/wrappers/cursor'],
    'lib/log.js': ['./backup/backup', './cursors/named-cursors', './read/scan', './read/search', './space/deletion', './space/trim', './statistics', './write/large-deletion', './write/sink'],
    'lib/opening.js': ['./sharing/sharing', './space/open-reader'],
    'lib/read/get.js': ['./large-cursor'],
    'lib/read/record-cursor.js': ['./large-cursor'],
    'lib/space/compacting.js': ['./compaction'],
    'lib/space/open-writer.js': ['./retention'],
    'lib/storage/path-file.js': ['./watch'],
    'lib/write/deleter.js': ['./range-deletion']
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
    builder.onResolve({ filter: /^(\w+|\.\/schedstat|\.\/address)$/ }, ({ path: name }) => {
      const file = path.join(NODE, `${path.basename(name)}.js`)
      if (fs.existsSync(file)) return { path: file }
    })
    builder.onResolve({ filter: ABSENT }, ({ path: name }) => ({ path: name, namespace: 'absent' }))
    builder.onLoad({ filter: /.*/, namespace: 'absent' }, () => ({ contents: 'module.exports = {}' }))
  }
}

/** @type {esbuild.Plugin} CommonJS modules become those of ECMAScript: these need no wrappers, and what nobody uses of them is left out */
const asModules = {
  name: 'modules',
  setup (builder) {
    builder.onLoad({ filter: /\.js$/, namespace: 'file' }, ({ path: file }) => file.includes('node_modules') ? undefined : { contents: asModule(fs.readFileSync(file, 'utf8')) })
  }
}

/**
 * @param {string} source of a CommonJS module, in the form that all of the project have
 * @returns {string}
 */
function asModule (source) {
  /** @type {string[]} */
  const imports = []
  return source
    .replace(/^const \{(.*)\} = require\(('.*')\)$/gm, (_, names, from) => `import {${names.replaceAll(':', ' as')}} from ${from}`)
    // an entry, and what lib/node/ has in the place of a module of Node.js, exports one value
    .replace(/^const (\w+) = require\(('(?:\.\/index|[^.].*)')\)$/gm, 'import $1 from $2')
    .replace(/^const (\w+) = require\(('.*')\)$/gm, 'import * as $1 from $2')
    // in functions
    .replace(/\brequire\(('.*?')\)/g, (_, from) => `required${imports.push(from)}`)
    .replace(/^module\.exports = (\w+)$/m, 'export default $1')
    .replace(/^module\.exports = \{/m, 'export {')
    // of errors.js
    .replace(/^exports\.(\w+) = \1$/gm, 'export { $1 }')
    .replace(/^exports\.(\w+) =/gm, 'export const $1 =')
    .replace(/\bexports\.(?=\w+\()/g, '') +
    imports.map((from, i) => `import * as required${i + 1} from ${from}\n`).join('')
}

/** @type {esbuild.BuildOptions} */
const OPTIONS = { bundle: true, format: 'esm', platform: 'browser', target: 'es2022', logLevel: 'warning', define: { __filename: '"/"' } }
/** Of what runs the log. @type {esbuild.BuildOptions} */
const WITH_LOG = { ...OPTIONS, plugins: [forBrowsers], inject: [path.join(NODE, 'inject.mjs')] }

/**
 * @param {string} outdir
 * @param {{ minify?: boolean }} [options]
 */
async function bundle (outdir, { minify = true } = {}) {
  const outfile = (/** @type {string} */ name) => path.join(outdir, name)
  await esbuild.build({ ...OPTIONS, minify, entryPoints: [path.join(__dirname, 'index.js')], outfile: outfile('index.mjs'), external: ['*/log.mjs'], plugins: [asModules] })
  await esbuild.build({ ...WITH_LOG, minify, entryPoints: [path.join(__dirname, 'lib', 'served.js')], outfile: outfile('log.mjs'), plugins: [forBrowsers, asModules] })
  await bundleWorker(outdir, minify)
}

/**
 * In three steps: which modules the worker has, the other file, which takes these from it, and the worker, which gives them.
 * @param {string} outdir
 * @param {boolean} minify
 */
async function bundleWorker (outdir, minify) {
  const later = Object.entries(LATER).flatMap(([folder, requiring]) => Object.entries(requiring).flatMap(([file, names]) => names.map(name => ({ importer: path.join(folder, file), name, isMet: false }))))
  const files = [...new Set(later.map(({ importer, name }) => require.resolve(path.join(path.dirname(importer), name))))]
  /**
   * @param {string} name of the other file
   * @param {string[]} modules that it takes
   */
  const bundleFirst = (name, modules) => {
    /** @type {esbuild.Plugin} */
    const plugin = {
      name: 'later',
      setup (builder) {
        builder.onResolve({ filter: /^\./ }, ({ path: name, importer }) => {
          if (name === './common.js') return { path: name, namespace: 'common' }
          const found = later.find(one => one.importer === importer && one.name === name)
          if (found === undefined) return
          found.isMet = true
          return { path: require.resolve(path.join(path.dirname(importer), name)), namespace: 'later' }
        })
        builder.onLoad({ filter: /.*/, namespace: 'later' }, ({ path: file }) => ({ contents: callsOf(file, files.indexOf(file)), resolveDir: __dirname }))
        builder.onLoad({ filter: /.*/, namespace: 'common' }, () => ({ contents: `export const url = String(new URL('./${name}', import.meta.url))\n${given(modules)}`, resolveDir: __dirname }))
      }
    }
    return esbuild.build({ ...WITH_LOG, minify, metafile: true, write: false, entryPoints: [path.join(__dirname, 'lib', 'worker.mjs')], plugins: [plugin, forBrowsers, asModules] })
  }
  const first = await bundleFirst('', [])
  for (const { importer, name, isMet } of later) if (!isMet) throw new Error(`${importer} does not require ${name}, which is to be loaded later`)
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
        if (found.namespace !== 'file' || !has.has(found.path) || found.path === ERRORS) return
        if (!modules.includes(found.path)) modules.push(found.path)
        return { path: found.path, namespace: 'common' }
      })
      builder.onLoad({ filter: /.*/, namespace: 'common' }, ({ path: file }) => ({ contents: taken(file, modules.indexOf(file)) }))
    }
  }
  const all = { contents: `${files.map((file, i) => `import * as later${i} from ${JSON.stringify(file)}\n`).join('')}export const modules = [${files.map((_, i) => `later${i}`)}]\n`, resolveDir: __dirname, sourcefile: 'more.mjs' }
  const more = await esbuild.build({ ...WITH_LOG, minify, write: false, stdin: all, plugins: [common, forBrowsers, asModules] })
  // of both, since the numbers of one are those of the other
  const name = `more-${crypto.createHash('sha256').update(more.outputFiles[0].contents).update(first.outputFiles[0].contents).digest('hex').slice(0, 8)}.mjs`
  fs.writeFileSync(path.join(outdir, name), more.outputFiles[0].contents)
  const last = await bundleFirst(name, modules)
  // minifying removes comments
  fs.writeFileSync(path.join(outdir, 'worker.mjs'), last.outputFiles[0].text.replace(/\bimport\((?=[\w$]+\(\)\))/, 'import(/* webpackIgnore: true *//* @vite-ignore */'))
}

/**
 * @param {string} file of a module
 * @returns {string[]} names of what it exports
 */
function namesOf (file) {
  const [, names, single] = /** @type {RegExpExecArray} */ (/^module\.exports = (?:\{([^}]*)\}|(\w+))$/m.exec(fs.readFileSync(file, 'utf8')))
  return single === undefined ? names.trim().split(/,\s*/) : ['default']
}

/**
 * What the worker exports of its modules: as lists, since a name takes more space.
 * @param {string[]} modules
 */
function given (modules) {
  const names = modules.map(namesOf)
  return modules.map((file, i) => `import { ${names[i].map((name, j) => `${name} as _${i}_${j}`).join(', ')} } from ${JSON.stringify(file)}\n`).join('') +
    `export const modules = [${names.map((list, i) => `[${list.map((_, j) => `_${i}_${j}`)}]`)}]\n`
}

/**
 * The same module in the other file.
 * @param {string} file
 * @param {number} number
 */
function taken (file, number) {
  return namesOf(file).map((name, i) => `const _${i} = flumelogModules[${number}][${i}]\nexport { _${i} as ${name} }\n`).join('')
}

/**
 * @param {string} file of a module that exports functions and classes
 * @param {number} number
 * @returns {string} a module that exports functions that call these
 */
function callsOf (file, number) {
  return `import { moduleOf } from './lib/more'\nconst call = name => function (...args) { const it = moduleOf(${number})[name]; return new.target ? new it(...args) : it(...args) }\n` +
    namesOf(file).map(name => `export const ${name} = call('${name}')\n`).join('')
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
