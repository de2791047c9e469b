'use strict'

// Runs every test file in a process of its own, with one process more than there are cores,
// and counts assertions.
//
//     node test/run.js [NAME ...] [--all] [--package NAME] [--thorough] [--again]
//
// runs the files of the core whose names contain one of the names; with `--package`, those of a package; with `--all`, those of the core
// and of all packages, whose names start with the package's, and those about what is packed and documented. With `--thorough`, random tests repeat more; with `--again`, and on Bun and Deno, the
// files whose result is the same on each runtime are not run. `TEST_TIMEOUT` is the number of seconds after which a file is
// killed. What is not run, and why, is in left-out.json; a file that is named is run.

const { spawn } = require('child_process')
const fs = require('fs')
const os = require('os')
const path = require('path')
const { parseArgs } = require('util')
const { processFolder } = require('./helpers/folder')
const { runtime, isNode } = require('./helpers/runtime')

const TIMEOUT = Number(process.env.TEST_TIMEOUT ?? 300)
/** The tests start hundreds of processes, and need no TLS: reading certificates would take most of the time of starting one. */
const { NODE_EXTRA_CA_CERTS, ...env } = process.env
const { values: { all, package: own, thorough, again }, positionals: names } = parseArgs({
  options: { all: { type: 'boolean', default: false }, package: { type: 'string' }, thorough: { type: 'boolean', default: false }, again: { type: 'boolean', default: false } },
  allowPositionals: true
})
const ROOT = path.join(__dirname, '..')
/** See helpers/folder.js and helpers/thorough.js; newer versions of Node.js need not compile what several processes load. */
const shared = processFolder()
const ENV = {
  ...env,
  TEST_SHARED: shared,
  NODE_COMPILE_CACHE: path.join(shared, 'compiled'),
  ...(isNode ? { NODE_OPTIONS: `--require=${JSON.stringify(path.join(__dirname, 'helpers', 'without-deadlock.js'))}` } : {}),
  ...(thorough ? { TEST_THOROUGH: '1' } : {})
}
/** See helpers/bundled-tape.js; the other runtimes load modules faster. */
const PRELOAD = isNode ? ['--require', path.join(__dirname, 'helpers', 'bundled-tape.js')] : []

/** The slowest files, started first so that none of them runs alone at the end. The first of those with the package makes it. */
const FIRST = [
  'package/package.js', 'sharing/conditional.js', 'view/browser.js', 'view/browser-access.js', 'view/browser-filter.js', 'jetstream/cluster.js', 'jetstream/bounds.js', 'package/style.js', 'bin/docs.js', 'recovery/damage.js', 'package/types.js', 'package/pages.js', 'recovery/kills.js',
  'bin/usage.js', 'read/buffer-pool.js', 'read/bounds.js', 'bin/dump-range.js', 'backup/backup.js', 'sharing/plain-client.js',
  'bin/repair.js', 'package/aligned-offset.js', 'write/full-disk.js', 'read/memory.js', 'bin/screen.js', 'bin/append-shared.js', 'bin/dump.js', 'read/followers.js'
]
/** Directories without tests; the others mirror lib/. */
const NO_TESTS = ['helpers', 'types']

const lists = require('./left-out.json')
/** Why files are not run, and which. @type {Array<[string, string[]]>} */
const leftOut = [all ? {} : lists.unlessAll, again || !isNode ? lists.again : {}, lists[runtime] ?? {}].flatMap(list => Object.entries(list))
const leftOutFiles = new Set(leftOut.flatMap(([, files]) => files))
const packages = own !== undefined ? [own] : all ? fs.readdirSync(path.join(ROOT, 'packages')) : []
const files = [...(own === undefined ? testsIn(__dirname) : []), ...packages.flatMap(name => testsIn(path.join(ROOT, 'packages', name, 'test')).map(file => path.join(name, file)))]
  .filter(file => names.length === 0 ? !leftOutFiles.has(slashed(file)) : names.some(name => file.includes(name)))
  .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))
const counts = { passed: 0, failed: 0 }
let running = 0

if (files.length === 0) {
  console.error(`no test file name contains ${names.join(' or ')}`)
  process.exitCode = 1
}
if (isNode) bundleTape()
if (names.length === 0) for (const [reason, files] of leftOut) console.log(`# left out, ${reason}: ${files.join(', ')}`)
startMore()

/**
 * @param {string} folder
 * @returns {string[]} paths of the tests in it
 */
function testsIn (folder) {
  return fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.js') && file !== 'run.js' && !NO_TESTS.includes(file.split(path.sep)[0]))
}

/**
 * @param {string} file of the list
 * @returns {{ file: string, cwd: string }} each test runs in the folder of its package
 */
function locate (file) {
  const [name, ...rest] = file.split(path.sep)
  if (!packages.includes(name)) return { file: path.join(__dirname, file), cwd: ROOT }
  const cwd = path.join(ROOT, 'packages', name)
  return { file: path.join(cwd, 'test', ...rest), cwd }
}

function bundleTape () {
  require('esbuild').buildSync({ entryPoints: [require.resolve('tape')], bundle: true, platform: 'node', outfile: path.join(shared, 'tape.js'), logLevel: 'error' })
}

/** @returns {number} the lower, the sooner the file is started */
function rank (file) {
  const index = FIRST.indexOf(slashed(file))
  return index === -1 ? FIRST.length : index
}

/** @param {string} file */
function slashed (file) {
  return file.split(path.sep).join('/')
}

function startMore () {
  while (running <= os.availableParallelism() && files.length > 0) start(files.shift())
  if (running === 0) {
    console.log(`\n${counts.passed} passed, ${counts.failed} failed`)
    if (counts.failed > 0) process.exitCode = 1
  }
}

function start (file) {
  const startedAt = Date.now()
  let output = ''
  let isTimedOut = false
  const located = locate(file)
  const child = spawn(process.execPath, [...PRELOAD, located.file], { cwd: located.cwd, env: ENV, stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.on('data', data => { output += data })
  child.stderr.on('data', data => { output += data })
  running++
  const timer = setTimeout(() => {
    isTimedOut = true
    child.kill('SIGKILL')
    // a program that the file has started may keep these open
    child.stdout.destroy()
    child.stderr.destroy()
  }, TIMEOUT * 1000)
  child.on('close', (code, signal) => {
    clearTimeout(timer)
    running--
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(1)
    const result = count(output, isTimedOut ? `was killed after ${TIMEOUT} s (TEST_TIMEOUT)` : `exited with ${signal ?? `code ${code}`}`, code === 0)
    counts.passed += result.passed
    counts.failed += result.failed
    console.log(`# ${file}: ${result.passed} passed, ${result.failed} failed (${seconds} s)`)
    if (result.problem !== null) console.log(`# ${file} ${result.problem}`)
    if (result.failed > 0) console.log(output)
    startMore()
  })
}

/**
 * @param {string} output of a file
 * @param {string} end how the process ended
 * @param {boolean} isSuccess whether it ended with code 0
 */
function count (output, end, isSuccess) {
  const passed = output.match(/^ok /gm)?.length ?? 0
  let failed = output.match(/^not ok /gm)?.length ?? 0
  // a file that exits before it prints its plan has failed
  const isPlanned = /^1\.\.\d+/m.test(output)
  const problem = isSuccess && isPlanned ? null : `${end}${isPlanned ? '' : ', before its plan was printed'}`
  if (problem !== null && failed === 0) failed = 1
  return { passed, failed, problem }
}
