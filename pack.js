'use strict'

// Packs the core for a release: `npm run tarball [-- options of npm pack]`.
//
// Loading one file takes a fraction of the time that loading 170 takes, so the code is bundled into two: core.js has what the entries
// need, cli.js the command line. Entries have the names that they have in a clone, and each takes its exports from core.js, so each class
// exists once. The code keeps its names and its lines, so that stack traces can be read: only comments are left out, since what editors show is
// in the declarations, core.js is indented by tabs, and cli.js is minified.
// All of it is made in a temporary folder, with a package.json without what only a clone needs.

const { spawnSync } = require('child_process')
const fs = require('fs')
const os = require('os')
const path = require('path')
const esbuild = require('esbuild')

const ROOT = __dirname
const { devDependencies, standard, workspaces, scripts, ...manifest } = require('./package.json')
/** Shipped as they are. */
const FILES = ['README.md', 'LICENSE']
/** Levels by which esbuild indents the code of a module. */
const WRAPPED = 2
/** Entries of the command line. */
const COMMANDS = ['command.js', 'bin/flumelog.js']
/** Other entries. @type {string[]} */
const ENTRIES = Object.values(manifest.exports).map(target => target.default ?? target).filter(file => file.endsWith('.js'))
  .map(file => path.basename(file)).filter(file => !COMMANDS.includes(file))

/** @param {string} folder that is empty */
async function pack (folder) {
  try {
    run(['run', '--silent', 'build'], ROOT)
    await bundle(folder)
    for (const name of FILES) fs.copyFileSync(path.join(ROOT, name), path.join(folder, name))
    fs.cpSync(path.join(ROOT, 'types'), path.join(folder, 'types'), { recursive: true })
    const files = [...ENTRIES, ...COMMANDS, 'core.js', 'cli.js', 'types', '!types/vendor.d.ts', ...FILES]
    fs.writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ ...manifest, files }, null, 2) + '\n')
    run(['pack', '--pack-destination', process.cwd(), ...process.argv.slice(2)], folder)
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
}

/** @param {string} folder */
async function bundle (folder) {
  const taken = new Set(ENTRIES)
  await build(folder, 'cli.js', COMMANDS, [takenFromCore(taken), withoutComments], true)
  await build(folder, 'core.js', [...taken].sort(), [withoutComments], false)
  await indentByTabs(path.join(folder, 'core.js'))
  for (const name of ENTRIES) {
    const exported = require(path.join(ROOT, name))
    // the names that can be imported, for those who look for them in the text
    const list = typeof exported === 'function' ? '' : `\n0 && (module.exports = { ${Object.keys(exported).join(', ')} })\n`
    write(folder, name, `module.exports = require('./core.js')['${name}']\n${list}`)
  }
  write(folder, 'command.js', "module.exports = require('./cli.js')['command.js']\n")
  write(folder, 'bin/flumelog.js', "module.exports = require('../cli.js')['bin/flumelog.js']\n", '#!/usr/bin/env node\n')
}

/**
 * @param {string} folder
 * @param {string} name
 * @param {string} text
 * @param {string} [before]
 */
function write (folder, name, text, before = '') {
  fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
  fs.writeFileSync(path.join(folder, name), `${before}'use strict'\n\n${text}`)
}

/**
 * A file that exports modules by their paths, and runs each when it is first asked for.
 * @param {string} folder
 * @param {string} name
 * @param {string[]} modules
 * @param {esbuild.Plugin[]} plugins
 * @param {boolean} isDense whether to minify it
 */
function build (folder, name, modules, plugins, isDense) {
  const getters = modules.map(file => `get '${file}' () { return require('./${file}') }`)
  return esbuild.build({
    stdin: { contents: `module.exports = {\n  ${getters.join(',\n  ')}\n}`, resolveDir: ROOT, sourcefile: name },
    outfile: path.join(folder, name),
    bundle: true,
    packages: 'external',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
    minify: isDense,
    lineLimit: isDense ? 100 : undefined,
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
 * @param {Set<string>} taken gets their paths
 * @returns {esbuild.Plugin}
 */
function takenFromCore (taken) {
  return {
    name: 'core',
    setup (builder) {
      builder.onResolve({ filter: /^\.\/(core\.js|package\.json)$/, namespace: 'core' }, ({ path: file }) => ({ path: file, external: true }))
      builder.onResolve({ filter: /^\.\.?\/[^*]*$/ }, ({ path: name, resolveDir }) => {
        const file = path.relative(ROOT, require.resolve(path.resolve(resolveDir, name)))
        if (file === 'command.js' || file.startsWith('bin')) return
        if (file !== 'package.json') taken.add(file)
        return { path: file, namespace: 'core' }
      })
      builder.onLoad({ filter: /.*/, namespace: 'core' }, ({ path: file }) => ({
        contents: file === 'package.json' ? "module.exports = require('./package.json')" : `module.exports = require('./core.js')['${file}']`,
        resolveDir: ROOT
      }))
    }
  }
}

/**
 * @param {string[]} args of npm
 * @param {string} cwd
 */
function run (args, cwd) {
  // `npm run` says that it is of the project
  const { npm_config_local_prefix: project, ...env } = process.env
  const { status } = spawnSync('npm', args, { cwd, env, stdio: 'inherit' })
  if (status !== 0) throw new Error(`npm ${args[0]} ended with code ${status}`)
}

pack(fs.mkdtempSync(path.join(os.tmpdir(), 'flumelog-pack-'))).catch((err) => {
  console.error(err)
  process.exitCode = 1
})
