'use strict'

// Bundles the core for a release. `npm pack` runs this before it makes the tarball, and with --restore afterwards.
//
// Loading one file takes a fraction of the time that loading 160 takes, so dist/ gets the code in two: core.js for the entries, cli.js for
// the command line. Each entry has a file of its own there, which takes its exports from core.js, so each class exists once. Stack traces stay
// readable: the code keeps its names and lines; core.js is indented by tabs, and cli.js is minified. Comments are left out; editors show those of the declarations.
// A clone runs from the source, so package.json leads to dist/ only while npm packs.

const { execFileSync } = require('child_process')
const fs = require('fs')
const path = require('path')
const esbuild = require('esbuild')

const ROOT = __dirname
const DIST = path.join(ROOT, 'dist')
const MANIFEST = path.join(ROOT, 'package.json')
/** package.json as it is in a clone, while npm packs. */
const SAVED = path.join(DIST, 'package.saved.json')
/** Levels by which esbuild indents the code of a module. */
const WRAPPED = 2
/** Entries of the command line. */
const COMMANDS = ['command.js', 'bin/flumelog.js']

async function pack () {
  restore()
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] })
  fs.rmSync(DIST, { recursive: true, force: true })
  const { devDependencies, standard, workspaces, scripts, ...manifest } = JSON.parse(fs.readFileSync(MANIFEST, 'utf8'))
  const targets = Object.values(manifest.exports).map(target => path.basename(target.default ?? target))
  await bundle(targets.filter(file => file.endsWith('.js') && !COMMANDS.includes(file)))
  fs.copyFileSync(MANIFEST, SAVED)
  const packed = JSON.parse(JSON.stringify(manifest), (key, value) => /^(\.\/)?(bin\/)?\w+\.js$/.test(value) ? `./dist/${path.basename(value)}` : value)
  fs.writeFileSync(MANIFEST, JSON.stringify({ ...packed, files: ['dist', '!dist/package.saved.json', 'types', '!types/vendor.d.ts'] }, null, 2) + '\n')
}

/** Puts package.json back, also after an `npm pack` that was killed. */
function restore () {
  if (fs.existsSync(SAVED)) fs.renameSync(SAVED, MANIFEST)
}

/** @param {string[]} entries without those of the command line */
async function bundle (entries) {
  const modules = new Set(entries)
  await build('cli.js', COMMANDS, [takenFromCore(modules), withoutComments], true)
  await build('core.js', [...modules].sort(), [withoutComments], false)
  await indentByTabs(path.join(DIST, 'core.js'))
  for (const name of entries) {
    const exported = require(path.join(ROOT, name))
    // import finds the names of the exports in the text
    const list = typeof exported === 'function' ? '' : `\n0 && (module.exports = { ${Object.keys(exported).join(', ')} })\n`
    write(name, `module.exports = require('./core.js')['${name}']\n${list}`)
  }
  for (const name of COMMANDS) write(path.basename(name), `module.exports = require('./cli.js')['${name}']\n`, name.startsWith('bin/') ? '#!/usr/bin/env node\n' : '')
}

/**
 * @param {string} name
 * @param {string} text
 * @param {string} [before]
 */
function write (name, text, before = '') {
  fs.writeFileSync(path.join(DIST, name), `${before}'use strict'\n\n${text}`)
}

/**
 * A file that exports modules by their paths, and runs each when it is first asked for.
 * @param {string} name
 * @param {string[]} modules
 * @param {esbuild.Plugin[]} plugins
 * @param {boolean} minify
 */
function build (name, modules, plugins, minify) {
  const getters = modules.map(file => `get '${file}' () { return require('./${file}') }`)
  return esbuild.build({
    stdin: { contents: `module.exports = {\n  ${getters.join(',\n  ')}\n}`, resolveDir: ROOT, sourcefile: name },
    outfile: path.join(DIST, name),
    bundle: true,
    packages: 'external',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
    minify,
    lineLimit: minify ? 100 : undefined,
    plugins
  })
}

/** esbuild would keep those between statements. @type {esbuild.Plugin} */
const withoutComments = {
  name: 'comments',
  setup (builder) {
    builder.onLoad({ filter: /\.js$/, namespace: 'file' }, async ({ path: file }) => {
      const text = fs.readFileSync(file, 'utf8').replace(/^#!.*/, '')
      return { contents: (await esbuild.transform(text, { minifyWhitespace: true })).code }
    })
  }
}

/** @param {string} file */
async function indentByTabs (file) {
  const text = fs.readFileSync(file, 'utf8')
  const indented = text.replace(/^(?: {2})+/gm, spaces => '\t'.repeat(Math.max(0, spaces.length / 2 - WRAPPED)))
    // the names of files, which are in the next lines, too
    .replace(/^\/\/ .*\n/gm, '')
  const [before, after] = await Promise.all([text, indented].map(code => esbuild.transform(code, { minifyWhitespace: true })))
  if (before.code !== after.code) throw new Error(`${file} has spaces at the start of a line of a template`)
  fs.writeFileSync(file, indented)
}

/**
 * The command line takes modules of the core from core.js.
 * @param {Set<string>} modules gets their paths
 * @returns {esbuild.Plugin}
 */
function takenFromCore (modules) {
  return {
    name: 'core',
    setup (builder) {
      builder.onResolve({ filter: /^\.\.?\/(core\.js|package\.json)$/, namespace: 'core' }, ({ path: file }) => ({ path: file, external: true }))
      builder.onResolve({ filter: /^\.\.?\/[^*]*$/ }, ({ path: name, resolveDir }) => {
        const file = path.relative(ROOT, require.resolve(path.resolve(resolveDir, name)))
        if (file === 'command.js' || file.startsWith('bin')) return
        if (file !== 'package.json') modules.add(file)
        return { path: file, namespace: 'core' }
      })
      builder.onLoad({ filter: /.*/, namespace: 'core' }, ({ path: file }) => ({
        contents: file === 'package.json' ? "module.exports = require('../package.json')" : `module.exports = require('./core.js')['${file}']`,
        resolveDir: ROOT
      }))
    }
  }
}

if (process.argv.includes('--restore')) restore()
else {
  pack().catch((err) => {
    restore()
    console.error(err)
    process.exitCode = 1
  })
}
